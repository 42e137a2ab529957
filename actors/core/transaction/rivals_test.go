package transaction

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// rival is one of several processes that use one transactional id: it sends, hears late or never, asks again, and goes on
// with what it was told.
type rival struct {
	name  string
	bump  bool // transaction version 2
	has   producer
	ready bool // has something to write with
	open  map[core.PartitionID]bool
	asked func() core.RequestID // the request it waits for, to be sent again
	waits map[core.RequestID]Command
}

type rivals struct {
	*world
	r      *rand.Rand
	all    []*rival
	holder map[string]string // pid/epoch: who was told it
	stood  map[string]bool   // pid/epoch/partition of markers: commit
}

// Whatever several processes with one transactional id ask, and however answers are lost: an epoch is told to one of
// them, what is told to be committed is committed and nothing else, and whoever was told of a successor's epoch last writes.
func TestRivalsNeverShareAnEpoch(t *testing.T) {
	for seed := range uint64(300) {
		w := &rivals{world: newWorld(t), r: rand.New(rand.NewPCG(seed, 1)), holder: map[string]string{}, stood: map[string]bool{}}
		for i := range 3 {
			w.all = append(w.all, &rival{name: fmt.Sprint("p", i), bump: w.r.IntN(2) == 0, open: map[core.PartitionID]bool{}, waits: map[core.RequestID]Command{}})
		}
		if seed%3 == 0 { // not far from the end of the epochs
			ev := ProducerInitialized{ID: "a", ProducerID: 99, PreviousID: -1, Epoch: lastUsed - int16(w.r.IntN(8)), LastEpoch: -1, TimeoutMs: 5_000}
			entry, _ := Machine().Encode(ev)
			Machine().Apply(w.s, ev)
			w.entries = append(w.entries, entry)
			w.do(Resume{Settings: w.settings})
		}
		for range 400 {
			w.step()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

func (w *rivals) step() {
	c := w.all[w.r.IntN(len(w.all))]
	switch w.r.IntN(12) {
	case 0:
		w.send(c, func(ref core.RequestID) Command {
			return InitProducerID{Ref: ref, ID: "a", Fresh: w.fresh, TimeoutMs: 5_000, ExpectedID: -1, ExpectedEpoch: -1}
		})
	case 1:
		if p := c.has; c.ready {
			w.send(c, func(ref core.RequestID) Command {
				return InitProducerID{Ref: ref, ID: "a", Fresh: w.fresh, TimeoutMs: 5_000, ExpectedID: p.pid, ExpectedEpoch: p.epoch}
			})
		}
	case 2, 3:
		if p, at := c.has, part(0, int32(w.r.IntN(3))); c.ready {
			w.send(c, func(ref core.RequestID) Command {
				return AddPartitions{Ref: ref, ID: "a", ProducerID: p.pid, Epoch: p.epoch, Partitions: []PartitionRecord{at}}
			})
		}
	case 4, 5:
		if p, commit := c.has, w.r.IntN(2) == 0; c.ready {
			w.send(c, func(ref core.RequestID) Command {
				return EndTxn{Ref: ref, ID: "a", ProducerID: p.pid, Epoch: p.epoch, Commit: commit, Bump: c.bump, Fresh: w.fresh}
			})
		}
	case 6:
		if c.asked != nil {
			c.asked()
		}
	case 7, 8, 9:
		if len(w.markers) > 0 {
			i := w.r.IntN(len(w.markers))
			e := w.markers[i].(WriteMarker)
			w.markers = slices.Delete(w.markers, i, i+1)
			at := fmt.Sprint(e.ProducerID, "/", e.Epoch, "/", e.Partition.Index)
			o := []MarkerOutcome{MarkerCommitted, MarkerCommitted, MarkerAgain}[w.r.IntN(3)]
			if o == MarkerCommitted {
				w.stood[at] = e.Commit
			}
			w.do(answerTo(e, o))
		}
	case 10:
		w.wait(int64(w.r.IntN(4_000)))
	case 11:
		if w.r.IntN(4) == 0 {
			w.restart()
			for _, c := range w.all {
				clear(c.waits)
				clear(c.open)
			}
		}
	}
	for _, c := range w.all {
		w.hear(c)
	}
}

func (w *rivals) send(c *rival, build func(core.RequestID) Command) {
	c.asked = func() core.RequestID {
		ref := w.next()
		cmd := build(ref)
		c.waits[ref] = cmd
		w.do(cmd)
		return ref
	}
	c.asked()
}

// hear takes the answers that have come, or loses them.
func (w *rivals) hear(c *rival) {
	for _, ref := range slices.Sorted(maps.Keys(c.waits)) {
		answer, came := w.replies[ref]
		if !came {
			continue
		}
		asked := c.waits[ref]
		delete(c.waits, ref)
		if w.r.IntN(5) == 0 {
			clear(c.open) // it cannot tell any more what of it is over
			continue
		}
		switch a := answer.(type) {
		case Initialized:
			if a.Code == 0 {
				clear(c.open)
				w.told(c, producer{"a", a.ProducerID, a.Epoch})
			} else if a.Code == perr.ProducerFenced {
				c.ready = false
			}
		case Ended:
			cmd := asked.(EndTxn)
			if a.Code == 0 {
				w.ended(c, cmd, a)
			}
		case PartitionsAnswered:
			cmd := asked.(AddPartitions)
			if p := cmd.Partitions[0]; a.Code == 0 && cmd.ProducerID == c.has.pid && cmd.Epoch == c.has.epoch {
				c.open[core.PartitionID{Topic: p.Topic, Index: p.Partition}] = true
			} else if a.Code == perr.ProducerFenced && cmd.ProducerID == c.has.pid && cmd.Epoch == c.has.epoch {
				c.ready = false
			}
		}
	}
}

// ended: what it was told to be open has the marker that it was told of.
func (w *rivals) ended(c *rival, cmd EndTxn, a Ended) {
	if cmd.ProducerID != c.has.pid || cmd.Epoch != c.has.epoch {
		return // of before; it has gone on
	}
	epoch := cmd.Epoch
	if cmd.Bump {
		epoch++
	}
	for at := range c.open {
		if commit, stands := w.stood[fmt.Sprint(cmd.ProducerID, "/", epoch, "/", at.Index)]; !stands || commit != cmd.Commit {
			w.t.Errorf("%s was told that %+v is over: partition %d has a marker %v, commit %v", c.name, cmd, at.Index, stands, commit)
		}
	}
	clear(c.open)
	if cmd.Bump {
		w.told(c, producer{"a", a.ProducerID, a.Epoch})
	}
}

func (w *rivals) told(c *rival, p producer) {
	key := fmt.Sprint(p.pid, "/", p.epoch)
	if other := w.holder[key]; other != "" && other != c.name {
		w.t.Errorf("%s was told %s, which is %s's", c.name, key, other)
	}
	w.holder[key] = c.name
	c.has, c.ready = p, true
}
