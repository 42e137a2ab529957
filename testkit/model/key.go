package model

import (
	"bytes"
	"hash/maphash"
	"os"
	"slices"
	"unsafe"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
)

// sum names a state or a part of it: 128 bits, so that two states of a search never share one.
type sum [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func sumOf(b []byte) sum { return sum{maphash.Bytes(seeds[0], b), maphash.Bytes(seeds[1], b)} }

// rulesOn says that no rule is switched off. What only a fence of the protocol will throw away may then be
// thrown away at once; with a rule off it must arrive.
var rulesOn = os.Getenv("LOCKSTEP_RULE_OFF") == ""

// key identifies the state, after it has been put into its canonical form. scratch is used and returned.
func (w *world) key(scratch []byte) (sum, []byte) {
	w.canonical()
	f, b := w.forms, scratch
	for i := range w.n {
		for id := core.ReplicaID(1); id <= 2; id++ {
			if w.owned&ownedBit(i, id) != 0 {
				b = w.cl[i].broker(id).form(f, w.bounds, b[:0], w.cl[i].version)
			}
		}
	}
	b = b[:0]
	for i := range w.n {
		c := &w.cl[i]
		for _, r := range c.brokers {
			b = append(b, unsafe.Slice((*byte)(unsafe.Pointer(&r.sum)), 16)...)
			b = append(b, flag(r.heard == c.version))
		}
		b = append(b, byte(c.reportingUnder), byte(c.leader), byte(c.epoch), byte(c.lastUnclean), byte(c.pe), byte(c.session), flag(c.fenced), byte(len(c.isr)))
		for _, r := range c.isr {
			b = append(b, byte(r))
		}
		b = f.links(b, unsafe.Pointer(&c.links[0][1]))
		b = f.links(b, unsafe.Pointer(&c.links[1][0]))
		b = f.proposals(b, unsafe.Pointer(&c.proposals))
	}
	b = f.floors(b, unsafe.Pointer(&w.floors))
	b = append(b, byte(len(w.answers)))
	for i := range w.answers {
		b = f.answer(b, unsafe.Pointer(&w.answers[i]))
	}
	b = f.acked(b, unsafe.Pointer(&w.acked))
	b = f.stated(b, unsafe.Pointer(&w.stated))
	for d := range w.gates {
		b = append(b, byte(w.gates[d]), byte(w.newest[d]), byte(w.elected[d]))
	}
	b = append(b, byte(w.elected[2]), byte(w.produced), byte(w.retries), byte(w.ticks), byte(w.crashes[0]), byte(w.crashes[1]), byte(w.releases), byte(w.unclean), byte(w.losses), byte(w.carried[0]), byte(w.carried[1]))
	return sumOf(b), b
}

// form names a broker after it changed.
func (r *broker) form(f *forms, bounds *Bounds, b []byte, version int64) []byte {
	b = f.part(b, unsafe.Pointer(r.part))
	if rulesOn && !partition.Describe(r.part).IsLeader {
		b = f.idle(b, unsafe.Pointer(r.hw))
	} else {
		b = f.hw(b, unsafe.Pointer(r.hw))
	}
	if bounds.SrcCrashes+bounds.DstCrashes > 0 {
		b = append(append(append(b, flag(r.unsaved)), r.partDisk...), r.hwDisk...)
	}
	b = append(b, flag(r.dirty), byte(r.unclean), byte(r.session), flag(r.read != nil))
	b = f.late(b, unsafe.Pointer(&r.late))
	b = f.batches(b, unsafe.Pointer(&r.live))
	b = f.batches(b, unsafe.Pointer(&r.disk))
	b = f.view(b, unsafe.Pointer(&r.view))
	b = f.fetcher(b, unsafe.Pointer(&r.fetcher))
	b = f.ints(b, unsafe.Pointer(&r.stamps))
	if r.read != nil {
		b = f.read(b, unsafe.Pointer(r.read))
	}
	r.sum = sumOf(b)
	return b
}

// canonical removes what can no longer matter and orders what has no order, so that histories that differ
// in nothing else are one state.
func (w *world) canonical() {
	for i := range w.n {
		c := &w.cl[i]
		for from := range 2 {
			link := &c.links[from][1-from]
			if len(*link) > 0 {
				w.dropOld(link, c.brokers[1-from])
			}
		}
	}
	if len(w.acked) > 1 {
		w.acked = slices.Clone(w.acked)
		slices.SortFunc(w.acked, func(a, b ack) int {
			return compare(int64(a.at), int64(b.at), int64(a.digest), int64(b.digest), int64(a.gated), int64(b.gated))
		})
	}
	if len(w.stated) > 1 {
		w.stated = slices.Clone(w.stated)
		slices.SortFunc(w.stated, func(a, b statement) int {
			return compare(int64(a.dest), int64(b.dest), int64(a.re), int64(b.re), int64(a.epoch), int64(b.epoch))
		})
	}
	if len(w.answers) > 1 {
		w.answers = slices.Clone(w.answers)
		slices.SortFunc(w.answers, func(a, b answer) int {
			return bytes.Compare(w.forms.answer(nil, unsafe.Pointer(&a)), w.forms.answer(nil, unsafe.Pointer(&b)))
		})
	}
	if rulesOn {
		w.dropFenced()
	}
}

// compare orders by pairs of numbers, the first that differ decide.
func compare(pairs ...int64) int {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] != pairs[i+1] {
			if pairs[i] < pairs[i+1] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// dropOld removes letters of leader epochs that their reader has left behind: it heeds no such letter,
// whatever rule is off.
func (w *world) dropOld(link *[]letter, reader *broker) {
	epoch := partition.Describe(reader.part).Epoch
	old := func(l letter) bool { return l.epoch() < epoch }
	if slices.ContainsFunc(*link, old) {
		*link = slices.DeleteFunc(slices.Clone(*link), old)
	}
}

// dropFenced removes what the fences of R2, R3 and R6 will refuse for ever.
func (w *world) dropFenced() {
	lost := func(f floorOnWay) bool {
		if f.report.SourceEpoch >= w.src().epoch {
			return false
		}
		for _, r := range w.src().brokers {
			if v := partition.Describe(r.part); v.IsLeader && v.Epoch <= f.report.SourceEpoch {
				return false
			}
		}
		return true
	}
	if slices.ContainsFunc(w.floors, lost) {
		w.floors = slices.DeleteFunc(slices.Clone(w.floors), lost)
	}
	stale := func(a answer) bool {
		r := w.cl[a.cluster].broker(a.to)
		return !partition.Describe(r.part).IsLeader || a.cmd.Session < r.session
	}
	if slices.ContainsFunc(w.answers, stale) {
		w.answers = slices.DeleteFunc(slices.Clone(w.answers), stale)
	}
	for i := range w.n {
		for id := core.ReplicaID(1); id <= 2; id++ {
			r := w.cl[i].broker(id)
			if partition.Describe(r.part).IsLeader {
				continue
			}
			if r.fetcher != (fetcher{}) || (r.stamps != nil && len(r.late[0]) == 0) {
				r = w.edit(i, id)
				if r.fetcher = (fetcher{}); len(r.late[0]) == 0 {
					r.stamps = nil
				}
			}
		}
	}
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}
