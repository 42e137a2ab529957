package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/actors/core"
)

// gatedTxn is an open transaction with one record at offset 1 of a gated topic, which the mirror has.
type gatedTxn struct {
	h      *house
	m      *farMirror
	id     core.TopicID
	epoch  int64
	client *kgo.Client
}

func newGatedTxn(t *testing.T) *gatedTxn {
	t.Helper()
	h, m, id, epoch := gatedHouse(t, 1)
	g := &gatedTxn{h: h, m: m, id: id, epoch: epoch, client: h.transactional("id")}
	if err := g.client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produced := make(chan error, 1)
	g.client.Produce(patient(t), &kgo.Record{Topic: "t", Value: []byte("in the transaction")}, func(_ *kgo.Record, err error) { produced <- err })
	g.ends(2)
	g.has(2)
	if err := <-produced; err != nil {
		t.Fatal(err)
	}
	return g
}

// ends waits until the source's log ends there.
func (g *gatedTxn) ends(leo core.Offset) {
	g.h.t.Helper()
	r := g.h.leaderOf(core.PartitionID{Topic: g.id})
	waitFor(g.h.t, "the source's end", func() bool { return r.View().LEO == leo })
}

// has says that the mirror has everything below floor.
func (g *gatedTxn) has(floor int64) { g.m.fetch(1, g.id, g.epoch, floor, floor, 0) }

// C12, F30: when the application hears that its transaction is committed, the other datacenter knows it too.
func TestACommitIsAnsweredWhenTheMirrorHasIt(t *testing.T) {
	g := newGatedTxn(t)
	ended := make(chan error, 1)
	go func() { ended <- g.client.EndTransaction(patient(t), kgo.TryCommit) }()
	g.ends(3) // the marker
	for range 20 {
		g.has(2)
		select {
		case err := <-ended:
			t.Fatalf("answered (%v) before the mirror has the marker", err)
		default:
		}
	}
	g.has(3)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "read_committed", g.h.consume("t", 2, committedOnly), []string{"first-0", "in the transaction"})
}

// C8: a switchover waits for the transactions of a topic. What is open is aborted, and its producer hears that.
func TestASwitchoverEndsOpenTransactions(t *testing.T) {
	g := newGatedTxn(t)
	g.m.generation++
	if got := g.m.supersede(3, "t", g.id, 1); got.Outcome != 1 {
		t.Fatalf("asked: %+v", got)
	}
	g.ends(3) // the ABORT marker passes the fence
	g.has(3)
	waitFor(t, "the hand over", func() bool {
		got := g.m.supersede(3, "t", g.id, 1)
		return got.Outcome == 2 && got.Ends[0].LogEndOffset == 3
	})
	if err := g.client.EndTransaction(patient(t), kgo.TryCommit); err == nil {
		t.Fatal("a transaction that was aborted is committed")
	}
	wantEqual(t, "read_committed", g.h.consume("t", 1, committedOnly), []string{"first-0"})
}

// C12: what was decided before the fence is finished behind it, and handed over with the topic.
func TestASwitchoverFinishesDecidedTransactions(t *testing.T) {
	g := newGatedTxn(t)
	ended := make(chan error, 1)
	go func() { ended <- g.client.EndTransaction(patient(t), kgo.TryCommit) }()
	g.ends(3)
	g.m.generation++
	if got := g.m.supersede(3, "t", g.id, 1); got.Outcome != 1 {
		t.Fatalf("asked: %+v", got)
	}
	g.has(3)
	waitFor(t, "the hand over", func() bool { return g.m.supersede(3, "t", g.id, 1).Outcome == 2 })
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
