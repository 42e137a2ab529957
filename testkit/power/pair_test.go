package power

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/clusterd/acked"
	"lockstep/journal/vfs"
	"lockstep/protocol/admin"
)

const (
	topic      = "orders"
	partitions = 2
)

// pair is a source and a destination with one SYNC topic, and a stock producer that writes all the time.
type pair struct {
	t         *testing.T
	ctx       context.Context
	random    *rand.Rand
	src, dst  *site
	admin     *admin.Client
	producers []*acked.Producer
	pause     func() // of the newest producer
}

func newPair(t *testing.T, seed uint64) *pair {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	p := &pair{t: t, ctx: ctx, random: random(seed), src: newSite(t, "src"), dst: newSite(t, "dst")}
	client, err := kgo.NewClient(kgo.SeedBrokers(p.src.seeds()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, partitions, brokers, nil, topic); err != nil {
		t.Fatal(err)
	}
	if p.admin, err = admin.New(p.dst.seeds()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.admin.Close)
	if _, err := p.admin.CreateMirror(ctx, "dr", map[string]string{"bootstrap.servers": strings.Join(p.src.seeds(), ",")}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.admin.StartTopics(ctx, "dr", []string{topic}, nil, admin.Sync); err != nil {
		t.Fatal(err)
	}
	p.awaitPhase("SYNC")
	return p
}

func (p *pair) awaitPhase(want string) {
	p.t.Helper()
	until(p.t, want, func() bool {
		mirrors, err := p.admin.Describe(p.ctx, "dr")
		return err == nil && len(mirrors) == 1 && len(mirrors[0].Topics) == 1 && mirrors[0].Topics[0].Phase == want
	})
}

// write starts a producer and waits until n records are acknowledged.
func (p *pair) write(n int) {
	p.t.Helper()
	producer, err := acked.NewProducer(p.src.seeds(), topic, p.random.Uint64(), 100, kgo.MaxBufferedRecords(40))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(producer.Client.Close)
	ctx, cancel := context.WithCancel(p.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		producer.Run(ctx)
	}()
	p.producers = append(p.producers, producer)
	p.pause = func() {
		cancel()
		<-done
		if err := producer.Drain(p.ctx); err != nil {
			p.t.Fatal(err)
		}
	}
	until(p.t, "acknowledgements", func() bool { return producer.Acked() >= n })
}

// acksGoOn waits for a record that is sent from now on.
func (p *pair) acksGoOn() {
	p.t.Helper()
	select {
	case <-p.producers[len(p.producers)-1].NextNew():
	case <-time.After(20 * time.Second):
		p.t.Fatal("no acknowledgement for 20 s")
	}
}

// everythingIsAt compares a site with what was acknowledged so far. Producers may go on meanwhile.
func (p *pair) everythingIsAt(s *site) {
	p.t.Helper()
	for _, producer := range p.producers {
		ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
		v, err := producer.Compare(ctx, s.seeds())
		cancel()
		if err != nil {
			p.t.Fatal(err)
		}
		if v.Lost > 0 || v.Duplicated > 0 || v.Acked == 0 {
			p.t.Errorf("%s: of %d acknowledged records %d are lost, as %v; %d are there twice", s.id, v.Acked, v.Lost, v.LostSample, v.Duplicated)
		}
	}
}

// floors is what the source has accepted, by partition: it acknowledges whatever lies below.
func (p *pair) floors() map[core.PartitionID]core.Offset {
	floors := map[core.PartitionID]core.Offset{}
	for id := range ids(p.src.cluster) {
		e, _ := p.src.cluster.Evidence(id)
		for _, g := range e.Gates {
			floors[id] = g.Floor
		}
	}
	return floors
}

func ids(c *broker.Cluster) func(func(core.PartitionID) bool) {
	return func(yield func(core.PartitionID) bool) {
		for _, t := range c.Newest().Topics {
			for i := range t.Partitions {
				if !yield(core.PartitionID{Topic: t.ID, Index: int32(i)}) {
					return
				}
			}
		}
	}
}

// hold makes the next start of the destination compare each replica that may lead with the floors.
func (p *pair) hold(floors map[core.PartitionID]core.Offset) {
	p.dst.opened = func(c *broker.Cluster) {
		for id, floor := range floors {
			part, ok := c.Newest().Partition(id)
			if !ok || len(part.ISR) == 0 {
				p.t.Errorf("partition %d of the destination has no replica that may lead: %s", id.Index, part.Text)
			}
			for _, b := range c.Brokers() {
				if !slices.Contains(part.ISR, b.ID()) || c.Newest().Brokers[b.ID()].Lossy {
					continue
				}
				if r, ok := b.Replica(id); !ok || r.View().LEO < floor {
					p.t.Errorf("replica %d of partition %d holds %d records after the power loss; the source acknowledges up to the floor %d", b.ID(), id.Index, r.View().LEO, floor)
				}
			}
		}
	}
}

// failOver loses the source for good and makes the copy writable.
func (p *pair) failOver() {
	p.t.Helper()
	if _, err := p.admin.StopTopics(p.ctx, "dr", []string{topic}); err != nil {
		p.t.Fatal(err)
	}
	p.awaitPhase("STOPPED")
}

// keep is what survives of the bytes that were not synced.
func (p *pair) keep(some bool) vfs.Keep {
	if !some {
		return nil
	}
	return func() bool { return p.random.IntN(2) == 0 }
}
