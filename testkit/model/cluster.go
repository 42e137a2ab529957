package model

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
)

// hear lets a broker apply its cluster's newest image: the seat first, then what HW must know.
func (w *world) hear(i int, id core.ReplicaID) {
	c := &w.cl[i]
	b := w.edit(i, id)
	if b.session != c.session {
		b.fetcher = fetcher{} // fetches of older sessions are withdrawn
	}
	b.heard, b.unclean, b.session = c.version, c.lastUnclean, c.session
	if id != c.leader {
		w.tell(i, id, partition.Follow{Epoch: c.epoch, Leader: c.leader})
		w.drain()
		return
	}
	img := highwater.AppliedImage{
		Epoch: c.epoch, PartitionEpoch: c.pe, ISR: slices.Clone(c.isr), MinISR: int32(w.bounds.MinISR), Version: c.version, LastUnclean: c.lastUnclean,
	}
	if c.fenced {
		img.Fenced = []core.ReplicaID{2}
	}
	lead := partition.Lead{Epoch: c.epoch, Replicas: []core.ReplicaID{1, 2}}
	if i > 0 {
		lead.Role, lead.Mirror, lead.Session = partition.Mirroring, "dr", c.session
		img.Mode = highwater.Mirroring
		img.MirrorOf = highwater.MirrorOf{Mirror: "dr", PinnedISR: int32(w.bounds.MinISR), Reporting: true, Epoch: c.reportingUnder}
	} else {
		for d, re := range w.gates {
			if re != 0 {
				img.Gates = append(img.Gates, highwater.Gate{Key: keys[d], Epoch: re, MinISR: int32(w.bounds.MinISR)})
			} else if d < w.n-1 && w.releases > 0 {
				img.Released = append(img.Released, keys[d])
			}
		}
	}
	w.tell(i, id, lead)
	w.drain()
	w.tellHW(i, id, img)
	w.drain()
}

// hearAll lets everybody hear at once, the leader first.
func (w *world) hearAll() {
	for i := range w.n {
		c := &w.cl[i]
		for _, id := range []core.ReplicaID{c.leader, 3 - c.leader} {
			if c.broker(id).heard < c.version {
				w.hear(i, id)
			}
		}
	}
}

// decideProposal is the controller: it takes a proposal of the leader it knows, under the partition epoch
// it knows, and refuses any other.
func (w *world) decideProposal(i int) {
	c := &w.cl[i]
	p := c.proposals[0]
	c.proposals = slices.Clone(c.proposals[1:])
	if p.isr.Epoch == c.epoch && p.isr.PartitionEpoch == c.pe && p.from == c.leader {
		c.isr, c.pe, c.version = p.isr.ISR, c.pe+1, c.version+1
		w.say("   ISR of %s is %v", c.name, c.isr)
		return
	}
	w.say("   refused")
	w.tellHW(i, p.from, highwater.ISRRefused{PartitionEpoch: p.isr.PartitionEpoch})
}

const (
	electClean int8 = iota
	electGraceful
	electUnclean
)

// elect makes id the leader of a new epoch; the old one hears of it later, or never.
func (w *world) elect(i int, id core.ReplicaID, how int8) {
	c := &w.cl[i]
	c.leader, c.epoch, c.pe, c.version = id, c.epoch+1, c.pe+1, c.version+1
	if i == 0 {
		w.carried = w.gates
	}
	switch how {
	case electGraceful:
	case electUnclean:
		w.unclean++
		c.lastUnclean = c.epoch
		c.isr = []core.ReplicaID{id}
	default:
		c.isr = []core.ReplicaID{id}
	}
	if i > 0 {
		c.session++
	}
}

// crash takes a broker's memory, what was not synced, and the letters it had not read or sent. next is
// who leads then, 0 if the leader was another broker; with sameEpoch the controller has not noticed, which
// the broker must survive (R12).
func (w *world) crash(i int, id core.ReplicaID, next int8) {
	w.crashes[min(i, 1)]++
	c := &w.cl[i]
	b := w.edit(i, id)
	part, err := partitions.Restore(partitionID(id), []byte(b.partDisk))
	if err != nil {
		panic(err)
	}
	hw, err := highwaters.Restore("ledger/t/0", []byte(b.hwDisk))
	if err != nil {
		panic(err)
	}
	b.partOwned, b.hwOwned = true, true
	b.part, b.hw, b.live, b.late, b.dirty, b.unsaved = part, hw, b.disk, [2][]any{}, false, false
	b.fetcher, b.read, b.heard, b.stamps = fetcher{}, nil, 0, nil
	b.view = partition.Describe(part)
	c.links[id-1][2-id], c.links[2-id][id-1] = nil, nil
	c.proposals = slices.DeleteFunc(slices.Clone(c.proposals), func(p proposal) bool { return p.from == id })
	w.answers = slices.DeleteFunc(slices.Clone(w.answers), func(a answer) bool { return int(a.cluster) == i && a.to == id })
	switch next {
	case 0, sameEpoch:
	case int8(id):
		isr := c.isr
		w.elect(i, id, electClean)
		c.isr = isr // a restart in place is a new epoch and nothing else (R12)
	default:
		w.elect(i, core.ReplicaID(next), electClean)
	}
}

const sameEpoch = -1

// lose is a source whose disks forgot everything and that does not know: the election after it is clean.
// Of what it had acknowledged, the residual that R11 admits is taken back: what the destination had not
// yet been told was committed.
func (w *world) lose() {
	c := w.src()
	w.losses++
	for id := core.ReplicaID(1); id <= 2; id++ {
		r := w.edit(0, id)
		*r = broker{part: partition.New(partitionID(id)), hw: highwater.New("ledger/t/0"), partOwned: true, hwOwned: true, unclean: r.unclean}
		w.saved(r)
		r.view = partition.Describe(r.part)
	}
	c.links, c.proposals = [2][2][]letter{}, nil
	isr := c.isr
	w.elect(0, c.leader, electClean)
	c.isr = isr
	w.acked = slices.Clone(w.acked)
	for n := range w.acked {
		for d := range w.n - 1 {
			if dst := &w.cl[d+1]; w.acked[n].at >= dst.broker(dst.leader).fetcher.told {
				w.acked[n].gated &^= 1 << d
			}
		}
	}
}

// adopt is the divergence check of a destination leader against a source broker that says it leads.
func (w *world) adopt(i int, id, s core.ReplicaID) {
	from, b := w.src().broker(s), w.edit(i, id)
	own := partition.Describe(b.part)
	asked := newestEpoch(own.Epochs)
	epoch, end := core.NoEpoch, core.Offset(0)
	for asked != core.NoEpoch {
		epoch, end = partition.EndOffsetForEpoch(from.view, asked)
		if epoch == core.NoEpoch || epoch >= asked || hasEpoch(own.Epochs, epoch) {
			break
		}
		asked = epochBelow(own.Epochs, epoch)
	}
	ref := refCheck
	if s == w.src().leader && from.view.Epoch == w.src().epoch {
		ref = refCurrent
	}
	b.fetcher.asking = true
	w.tell(i, id, partition.AdoptSource{
		Ref: ref, Session: b.session, SourceEpoch: from.view.Epoch, EndEpoch: epoch, EndOffset: max(end, 0),
		LastUnclean: from.unclean, Stated: true,
	})
}

func newestEpoch(epochs []partition.EpochStart) core.LeaderEpoch {
	if len(epochs) == 0 {
		return core.NoEpoch
	}
	return epochs[len(epochs)-1].Epoch
}

func hasEpoch(epochs []partition.EpochStart, epoch core.LeaderEpoch) bool {
	return slices.ContainsFunc(epochs, func(e partition.EpochStart) bool { return e.Epoch == epoch })
}

func epochBelow(epochs []partition.EpochStart, epoch core.LeaderEpoch) core.LeaderEpoch {
	found := core.NoEpoch
	for _, e := range epochs {
		if e.Epoch <= epoch {
			found = e.Epoch
		}
	}
	return found
}
