package checker

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// client are options of every client: it looks again soon, because brokers come and go.
func (r *run) client(more ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.seeds...), kgo.DialTimeout(time.Second), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.MetadataMaxAge(5 * time.Second), kgo.RequestTimeoutOverhead(3 * time.Second), kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond })}, more...)...)
	if err != nil {
		panic(fmt.Sprintf("options of a client: %v", err)) // they are constants
	}
	return cl
}

func producing(more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(2 * time.Millisecond),
		kgo.ProduceRequestTimeout(5 * time.Second), kgo.MaxBufferedRecords(200)}, more...)
}

// record is what a value looks like in a log.
func (r *run) record(v Value, partition int) *kgo.Record {
	at := r.partitions[partition]
	return &kgo.Record{Topic: at.topic, Partition: at.index, Value: binary.BigEndian.AppendUint64(nil, uint64(v))}
}

func valueIn(b []byte) Value {
	if len(b) != 8 {
		return 0
	}
	return Value(binary.BigEndian.Uint64(b))
}

// write sends records of one producer, each to a random partition, until ctx ends; then it waits for their answers.
func (r *run) write(ctx context.Context, writer int, kind WriterKind) {
	rng := rand.New(rand.NewPCG(r.Seed, uint64(writer)))
	opts := producing()
	if kind == Plain {
		opts = producing(kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1), kgo.RecordRetries(20))
	}
	cl := r.client(opts...)
	defer cl.Close()
	every := time.NewTicker(time.Second / time.Duration(r.Rate))
	defer every.Stop()
	for n := 1; ctx.Err() == nil; n++ {
		select {
		case <-every.C:
		case <-ctx.Done():
		}
		p := rng.IntN(len(r.partitions))
		r.send(context.Background(), cl, valueOf(writer, n), p, nil)
	}
	flush, cancel := r.rest()
	defer cancel()
	if err := cl.Flush(flush); err != nil {
		r.unanswered.Add(1)
	}
}

func (r *run) send(ctx context.Context, cl *kgo.Client, v Value, p int, also func(*kgo.Record, error)) {
	ended := r.rec.begin(v, p)
	cl.Produce(ctx, r.record(v, p), func(rec *kgo.Record, err error) {
		if err != nil {
			ended(Unknown, -1)
			r.gaveUp.Add(1)
		} else {
			ended(Done, rec.Offset)
		}
		if also != nil {
			also(rec, err)
		}
	})
}

// transact writes transactions under one id until ctx ends. Between its writes it reads what others have committed.
func (r *run) transact(ctx context.Context, writer int) {
	rng := rand.New(rand.NewPCG(r.Seed, uint64(writer)))
	reader := r.client(kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumePartitions(r.assignment(kgo.NewOffset().AtStart())), kgo.FetchMaxWait(100*time.Millisecond))
	defer reader.Close()
	for n := 0; ctx.Err() == nil; {
		cl := r.client(producing(kgo.TransactionalID(fmt.Sprint("writer-", writer)), kgo.TransactionTimeout(20*time.Second),
			kgo.RecordDeliveryTimeout(10*time.Second), kgo.RetryTimeout(10*time.Second))...)
		for ctx.Err() == nil && r.once(ctx, cl, reader, writer, &n, rng) {
			select {
			case <-time.After(time.Duration(rng.Int64N(int64(8 * time.Second / time.Duration(r.Rate))))):
			case <-ctx.Done():
			}
		}
		cl.Close() // a new client fences this one, as a restarted application would
	}
}

// once is one transaction; false: the client is of no use any more.
func (r *run) once(ctx context.Context, cl, reader *kgo.Client, writer int, n *int, rng *rand.Rand) bool {
	t := Txn{Writer: writer, Began: r.rec.now(), Fate: NeverAsked}
	defer func() {
		t.Ended = r.rec.now()
		r.rec.add(func(h *History) { h.Txns = append(h.Txns, t) })
	}()
	if err := cl.BeginTransaction(); err != nil {
		return false
	}
	var first kgo.FirstErrPromise
	writes := 1 + rng.IntN(6)
	for i := range writes {
		*n++
		v := valueOf(writer, *n)
		t.Wrote = append(t.Wrote, v)
		r.send(ctx, cl, v, rng.IntN(len(r.partitions)), first.Promise())
		if i == writes/2 {
			poll, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			reader.PollRecords(poll, 100).EachRecord(func(rec *kgo.Record) { t.Read = append(t.Read, valueIn(rec.Value)) })
			cancel()
		}
	}
	produced := make(chan error, 1)
	go func() { produced <- first.Err() }()
	failed := false
	select {
	case err := <-produced:
		failed = err != nil
	case <-time.After(r.patience):
		return false
	case <-r.died:
		return false
	}
	commit := !failed && rng.IntN(3) > 0
	end, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if failed {
		if err := cl.AbortBufferedRecords(end); err != nil {
			return false
		}
	}
	if commit {
		t.Fate = Undecided
	}
	if err := cl.EndTransaction(end, kgo.TransactionEndTry(commit)); err != nil {
		return false
	}
	if t.Fate = Aborted; commit {
		t.Fate = Committed
	}
	return true
}
