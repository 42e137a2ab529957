package partition

import (
	"fmt"
	"slices"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/invariants"
	"lockstep/protocol/batch"
)

// broadcast is the image of the newest election or ISR change on its way to every broker.
func (w *world) broadcast(c *cluster) {
	c.version++
	for _, b := range c.brokers {
		w.inform(c, b)
	}
}

func (w *world) inform(c *cluster, b *broker) {
	epoch, leader, session := c.epoch, c.leader, c.session
	img := highwater.AppliedImage{
		Epoch: c.epoch, PartitionEpoch: c.pe, ISR: slices.Clone(c.isr), MinISR: 1, Version: c.version,
		LastUnclean: core.NoEpoch,
	}
	role := Writable
	if c == w.dst {
		role = Mirroring
		img.Mode = highwater.Mirroring
		img.MirrorOf = highwater.MirrorOf{Mirror: "dr", PinnedISR: 1, Reporting: true, Epoch: 1}
	} else if w.gated {
		img.Gates = []highwater.Gate{{Key: mirrorKey, Epoch: 1, MinISR: 1}}
	}
	c.post("image", b.name("p"), func() {
		if b.id == leader {
			b.tell(Lead{Epoch: epoch, Role: role, Mirror: "dr", Session: session, Replicas: []core.ReplicaID{1, 2}})
		} else {
			b.tell(Follow{Epoch: epoch, Leader: leader})
		}
	})
	c.post("image", b.name("hw"), func() {
		if b.id == leader {
			b.tellHW(img)
		}
	})
}

func (w *world) propose(b *broker, e highwater.ProposeISR) {
	c := b.c
	if e.Epoch == c.epoch && e.PartitionEpoch == c.pe && b.id == c.leader {
		c.isr, c.pe = e.ISR, c.pe+1
		w.say("%s ISR %v", c.name, c.isr)
		w.broadcast(c)
		return
	}
	c.post("controller", b.name("hw"), func() { b.tellHW(highwater.ISRRefused{PartitionEpoch: e.PartitionEpoch}) })
}

// elect makes an ISR member the leader of a new epoch; the old one hears of it later, or never.
func (w *world) elect(c *cluster, id core.ReplicaID, shrink bool) {
	old := c.leader
	c.leader, c.epoch, c.pe = id, c.epoch+1, c.pe+1
	if c == w.dst {
		c.session++
	}
	if shrink && old != id {
		c.isr = slices.DeleteFunc(slices.Clone(c.isr), func(r core.ReplicaID) bool { return r == old })
	}
	w.say("%s elects %d, epoch %d, ISR %v", c.name, id, c.epoch, c.isr)
	w.broadcast(c)
}

// crash takes a broker's memory and whatever was not synced, and the mail it had not read or sent.
func (w *world) crash(b *broker) {
	w.say("%s crashes, %d of %d entries synced", b.name("b"), b.synced, len(b.entries))
	names := []string{b.name("p"), b.name("hw"), b.name("read"), b.name("q"), b.name("hw") + "-self"}
	b.c.mail = slices.DeleteFunc(b.c.mail, func(l letter) bool {
		return slices.Contains(names, l.from) || slices.Contains(names, l.to)
	})
	b.reset()
	if b.c.leader == b.id {
		next := b.id
		for _, r := range b.c.isr {
			if r != b.id {
				next = r
			}
		}
		if w.rng.Intn(2) == 0 {
			next = b.id
		}
		w.elect(b.c, next, next != b.id)
		return
	}
	w.inform(b.c, b)
}

// step does one thing that may happen next.
func (w *world) step() {
	switch n := w.rng.Intn(100); {
	case n < 50:
		for range 4 {
			w.deliver(w.src)
			w.deliver(w.dst)
		}
	case n < 66:
		w.someone().sync()
	case n < 71:
		w.produce()
	case n < 80:
		w.fetch()
	case n < 86:
		w.answer()
	case n < 94:
		w.floor()
	case n < 95:
		if len(w.src.isr) == 2 && w.src.epoch < 4 {
			w.elect(w.src, 3-w.src.leader, w.rng.Intn(2) == 0)
		}
	case n < 96:
		if len(w.dst.isr) == 2 && w.dst.epoch < 104 {
			w.elect(w.dst, 3-w.dst.leader, w.rng.Intn(2) == 0)
		}
	case n < 97:
		w.crash(w.someone())
	case n < 99:
		w.clock(11 * time.Second)
	default:
		w.clock(time.Second)
	}
	w.check()
}

func (w *world) someone() *broker {
	c := w.src
	if w.rng.Intn(2) == 0 {
		c = w.dst
	}
	return c.brokers[w.rng.Intn(2)]
}

// deliver hands over the oldest letter of a random queue.
func (w *world) deliver(c *cluster) {
	if len(c.mail) == 0 {
		return
	}
	i := w.rng.Intn(len(c.mail))
	l := c.mail[i]
	for j, other := range c.mail[:i] {
		if other.from == l.from && other.to == l.to {
			l, i = other, j
			break
		}
	}
	c.mail = slices.Delete(slices.Clone(c.mail), i, i+1)
	l.deliver()
}

func (w *world) produce() {
	if w.nextID >= 6 {
		return
	}
	b := w.src.brokers[w.rng.Intn(2)]
	if b.part.seat != seatLeader {
		return
	}
	w.nextID++
	w.say("produce %d at %s", w.nextID, b.name("p"))
	b.tell(AppendBatch{Ref: core.RequestID(w.nextID), Batch: record(w.nextID), Acks: -1, Deadline: w.now.Mono + int64(time.Hour)})
}

func record(id int64) batch.Batch {
	return batch.Build(batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, FirstTimestamp: id, MaxTimestamp: id},
		[]batch.Record{{Timestamp: id, Value: fmt.Appendf(nil, "record %d", id)}})
}

// fetch is the fetcher of a destination leader: it adopts a new source epoch, else it asks for data. It
// trusts the released view of whoever leads the source by its own word.
func (w *world) fetch() {
	d := w.dst.broker(w.dst.leader)
	s := w.src.brokers[w.rng.Intn(2)]
	if !s.view.IsLeader || d.part.seat != seatLeader || d.part.role != Mirroring {
		return
	}
	if d.part.adopted != s.view.Epoch || !d.part.current {
		asked := d.part.lastEpoch()
		epoch, end := core.NoEpoch, core.Offset(0)
		for asked != core.NoEpoch {
			if epoch, end = EndOffsetForEpoch(s.view, asked); epoch == core.NoEpoch || epoch >= asked || knownEpoch(d.part.epochs, epoch) {
				break
			}
			asked = d.part.newestAtOrBelow(epoch)
		}
		w.say("%s adopts source epoch %d of broker %d (asked %d: %d ends %d)", d.name("p"), s.view.Epoch, s.id, asked, epoch, end)
		d.tell(AdoptSource{
			Session: d.part.session, SourceEpoch: s.view.Epoch, EndEpoch: epoch, EndOffset: max(end, 0),
			LastUnclean: core.NoEpoch, Stated: true,
		})
		return
	}
	if len(w.answers) < 2 {
		w.answers = append(w.answers, fetched{d, AppendMirrored{
			Session: d.part.session, SourceEpoch: s.view.Epoch, Batches: s.read(d.part.leo),
			SourceHW: s.view.HW, HasWaiters: true,
		}})
	}
}

func (w *world) answer() {
	if len(w.answers) == 0 {
		return
	}
	i := w.rng.Intn(len(w.answers))
	a := w.answers[i]
	w.answers = slices.Delete(w.answers, i, i+1)
	if w.rng.Intn(10) == 0 {
		return // lost
	}
	w.say("answer of epoch %d with %d batches reaches %s", a.cmd.SourceEpoch, len(a.cmd.Batches), a.to.name("p"))
	a.to.tell(a.cmd)
}

func (w *world) floor() {
	if len(w.floors) == 0 {
		return
	}
	i := w.rng.Intn(len(w.floors))
	f := w.floors[i]
	if w.rng.Intn(4) != 0 { // else it is doubled
		w.floors = slices.Delete(w.floors, i, i+1)
	}
	if w.rng.Intn(6) == 0 {
		return // lost
	}
	w.say("floor %d of epoch %d arrives", f.Floor, f.SourceEpoch)
	for _, b := range w.src.brokers {
		b.tellHW(f)
	}
}

func (w *world) clock(by time.Duration) {
	w.now.Mono += int64(by)
	for _, c := range []*cluster{w.src, w.dst} {
		for _, b := range c.brokers {
			b.tell(Tick{})
			b.tellHW(highwater.Tick{})
		}
	}
}

// electable is what the replicas hold that the controller may elect now.
func (c *cluster) electable() []invariants.Copy {
	var copies []invariants.Copy
	for _, r := range c.isr {
		copies = append(copies, c.broker(r).copyOf(c.broker(r).disk))
	}
	return copies
}

func (w *world) check() {
	fail := func(v *invariants.Violation) {
		if v != nil && w.violation == nil {
			w.violation = v
		}
	}
	dst := w.dst.electable()
	fail(invariants.AckedEverywhere(w.acked, dst))
	fail(invariants.AckedEverywhere(w.acked, w.src.electable()))
	leader := w.src.broker(w.src.leader)
	for _, f := range w.stated {
		if f.SourceEpoch == w.src.epoch {
			fail(invariants.FloorStable(f.Floor, leader.copyOf(leader.live).Batches, dst))
		}
	}
	for _, c := range []*cluster{w.src, w.dst} {
		for _, b := range c.brokers {
			if b.view.Epoch == b.epochHW {
				fail(invariants.HighWatermarkKept(b.name("p"), b.hwSeen, b.view.HW))
			}
			b.hwSeen, b.epochHW = b.view.HW, b.view.Epoch
		}
		if l := c.broker(c.leader); l.view.IsLeader && l.view.Epoch == c.epoch {
			fail(invariants.HighWatermarkBounded(l.name("p"), l.view.HW, l.part.leo, c.electable()))
		}
	}
}
