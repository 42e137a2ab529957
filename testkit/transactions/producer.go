package transactions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// fate is what a producer was told of one transaction.
type fate uint8

const (
	unknown   fate = iota // an error at the end, or cut off: all of it or nothing
	committed             // all of it
	aborted               // nothing
)

// txn is one transaction: every value it wrote begins with its name.
type txn struct {
	name   string
	values int
	fate   fate
}

// producer writes transactions under one transactional id and remembers what it was told.
type producer struct {
	id    string
	seeds []string
	opts  []kgo.Opt
	rng   *rand.Rand

	mu   sync.Mutex
	txns []*txn
}

// olderClients speak transaction version 1: AddPartitionsToTxn, and one epoch for many transactions.
func olderClients() kgo.Opt { return kgo.MaxVersions(kversion.V3_6_0()) }

func (p *producer) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; {
		cl, err := kgo.NewClient(append(p.opts, kgo.SeedBrokers(p.seeds...), kgo.TransactionalID(p.id), kgo.TransactionTimeout(20*time.Second),
			kgo.RecordPartitioner(kgo.UniformBytesPartitioner(64, false, false, nil)), kgo.ProducerLinger(time.Millisecond),
			kgo.RecordDeliveryTimeout(10*time.Second), kgo.RequestTimeoutOverhead(3*time.Second),
			kgo.RetryTimeout(10*time.Second), kgo.MetadataMinAge(50*time.Millisecond))...)
		if err != nil {
			panic(err) // options are constants
		}
		for ctx.Err() == nil {
			n++
			if !p.once(ctx, cl, n) {
				break // a new client fences this one, as a restarted application would
			}
		}
		cl.Close()
	}
}

// once writes one transaction; false: the client is of no use any more.
func (p *producer) once(ctx context.Context, cl *kgo.Client, n int) bool {
	t := &txn{name: fmt.Sprintf("%s.%d.", p.id, n), values: 1 + p.rng.IntN(12), fate: unknown}
	if err := cl.BeginTransaction(); err != nil {
		return false
	}
	p.mu.Lock()
	p.txns = append(p.txns, t)
	p.mu.Unlock()
	var first kgo.FirstErrPromise
	for i := range t.values {
		cl.Produce(ctx, &kgo.Record{Topic: topics[i%len(topics)], Value: fmt.Appendf(nil, "%s%d", t.name, i)}, first.Promise())
	}
	produced := make(chan error, 1)
	go func() { produced <- first.Err() }()
	failed := false
	select {
	case err := <-produced:
		failed = err != nil
	case <-ctx.Done(): // records on their way to a server that is gone for good would be waited for as long
		return false
	}
	commit := !failed && p.rng.IntN(3) > 0
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if failed {
		if err := cl.AbortBufferedRecords(end); err != nil {
			return false
		}
	}
	if err := cl.EndTransaction(end, kgo.TransactionEndTry(commit)); err != nil {
		return false
	}
	t.fate = aborted
	if commit {
		t.fate = committed
	}
	return true
}
