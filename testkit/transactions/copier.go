package transactions

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// copier consumes, transforms and produces: what it reads from one topic it writes to another, with the offsets in the
// same transaction. Each value must come out once.
type copier struct {
	seeds []string
	opts  []kgo.Opt
}

func (c *copier) run(ctx context.Context) {
	for ctx.Err() == nil {
		s, err := kgo.NewGroupTransactSession(append(c.opts, kgo.SeedBrokers(c.seeds...), kgo.TransactionalID("copier"), kgo.ConsumerGroup("copier"),
			kgo.ConsumeTopics(copyFrom), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequireStableFetchOffsets(), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.DefaultProduceTopic(copyTo), kgo.TransactionTimeout(20*time.Second), kgo.FetchMaxWait(200*time.Millisecond), kgo.SessionTimeout(6*time.Second),
			kgo.RecordDeliveryTimeout(10*time.Second), kgo.RequestTimeoutOverhead(3*time.Second), kgo.RetryTimeout(10*time.Second), kgo.MetadataMinAge(50*time.Millisecond))...)
		if err != nil {
			panic(err) // options are constants
		}
		for ctx.Err() == nil {
			if !c.once(ctx, s) {
				break
			}
		}
		s.Close()
	}
}

func (c *copier) once(ctx context.Context, s *kgo.GroupTransactSession) bool {
	poll, cancel := context.WithTimeout(ctx, time.Second)
	fetches := s.PollRecords(poll, 50)
	cancel()
	if fetches.NumRecords() == 0 {
		return true
	}
	if err := s.Begin(); err != nil {
		return false
	}
	var first kgo.FirstErrPromise
	fetches.EachRecord(func(r *kgo.Record) { s.Produce(ctx, &kgo.Record{Value: r.Value}, first.Promise()) })
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer stop()
	_, err := s.End(end, kgo.TransactionEndTry(first.Err() == nil))
	return err == nil
}
