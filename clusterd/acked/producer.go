// Package acked proves what a cluster promised: a stock producer that remembers every acknowledgement,
// and a stock reader that compares.
package acked

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// valueHeader is the run and the record number, both big-endian.
const valueHeader = 16

// Producer writes numbered records to one topic at full speed. It is an ordinary idempotent acks=all
// client: everything it does, any application does.
type Producer struct {
	Client *kgo.Client
	topic  string
	run    uint64
	size   int
	// Rate is how many records Run writes in a second; 0: as many as the cluster takes. Set it before Run.
	Rate int

	mu        sync.Mutex
	next      uint64
	acks      map[uint64]time.Time // by record number: when its acknowledgement arrived
	failed    map[uint64]error     // given up by the client: may or may not be in the log
	latencies []time.Duration
	first     chan struct{} // closed and replaced by WaitNext
	waitFrom  uint64
}

// NewProducer connects a client. size is the value length in bytes, at least 16. Values carry run, so
// that several producers can share a topic.
func NewProducer(seeds []string, topic string, run uint64, size int, opts ...kgo.Opt) (*Producer, error) {
	base := []kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.DefaultProduceTopic(topic),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MaxBufferedRecords(4000),
		kgo.ProducerLinger(2 * time.Millisecond),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.RetryTimeout(5 * time.Minute),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
		kgo.DialTimeout(time.Second),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.MetadataMaxAge(5 * time.Second),
		kgo.RequestTimeoutOverhead(3 * time.Second),
	}
	cl, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make producer for %s: %w", topic, err)
	}
	return &Producer{Client: cl, topic: topic, run: run, size: max(size, valueHeader),
		acks: map[uint64]time.Time{}, failed: map[uint64]error{}}, nil
}

// Run produces until ctx ends, then waits for nothing: what is in flight stays in flight. A full
// buffer blocks, so the speed is the cluster's.
func (p *Producer) Run(ctx context.Context) {
	filler := make([]byte, p.size)
	r := rand.NewChaCha8([32]byte{byte(p.run), byte(p.run >> 8)})
	_, _ = r.Read(filler)
	for turn := p.turn(); ctx.Err() == nil && turn(ctx); {
		p.mu.Lock()
		n := p.next
		p.next++
		p.mu.Unlock()
		value := slices.Clone(filler)
		binary.BigEndian.PutUint64(value, p.run)
		binary.BigEndian.PutUint64(value[8:], n)
		sent := time.Now()
		p.Client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) { p.answered(n, sent, err) })
	}
}

// turn waits until it is time for the next record. What a stall held up is not made up for: the load is even.
func (p *Producer) turn() func(context.Context) bool {
	if p.Rate <= 0 {
		return func(context.Context) bool { return true }
	}
	const slice = 5 * time.Millisecond
	began, due := time.Now(), 0.0
	return func(ctx context.Context) bool {
		for due < 1 {
			select {
			case <-time.After(slice):
			case <-ctx.Done():
				return false
			}
			due += float64(p.Rate) * min(time.Since(began), 10*slice).Seconds()
			began = time.Now()
		}
		due--
		return true
	}
}

func (p *Producer) answered(n uint64, sent time.Time, err error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed[n] = err
		return
	}
	p.acks[n] = now
	p.latencies = append(p.latencies, now.Sub(sent))
	if p.first != nil && n >= p.waitFrom {
		close(p.first)
		p.first = nil
	}
}

// Acked is how many records were acknowledged so far.
func (p *Producer) Acked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.acks)
}

// Failed is how many records the client gave up, and one of the reasons.
func (p *Producer) Failed() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, err := range p.failed {
		return len(p.failed), err
	}
	return 0, nil
}

// NextNew returns a channel that closes when a record first sent after this call is acknowledged.
func (p *Producer) NextNew() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first, p.waitFrom = make(chan struct{}), p.next
	return p.first
}

// MoveTo points the same client, with its producer id, epoch and sequences, at another cluster.
func (p *Producer) MoveTo(seeds []string) error {
	if err := p.Client.UpdateSeedBrokers(seeds...); err != nil {
		return fmt.Errorf("move producer to %v: %w", seeds, err)
	}
	p.Client.ForceMetadataRefresh()
	return nil
}

// Drain waits until every record handed to the client is answered.
func (p *Producer) Drain(ctx context.Context) error {
	if err := p.Client.Flush(ctx); err != nil {
		return fmt.Errorf("flush producer of %s: %w", p.topic, err)
	}
	return nil
}

// Latency is the q-quantile of the acknowledgement latency, the client's own queue included.
func (p *Producer) Latency(q float64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.latencies) == 0 {
		return 0
	}
	slices.Sort(p.latencies)
	return p.latencies[min(len(p.latencies)-1, int(q*float64(len(p.latencies))))]
}
