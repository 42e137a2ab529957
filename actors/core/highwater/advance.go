package highwater

import (
	"cmp"
	"slices"

	"lockstep/actors/core"
)

// Ledger modes, as journaled.
const (
	ledgerLocal    int8 = 0
	ledgerSync     int8 = 1
	ledgerReleased int8 = 2
)

// stamp is what the open stamp says of the acks given under it.
type stamp struct {
	epoch    core.LeaderEpoch
	mode     int8
	gates    []gateID
	released []core.MirrorKey
}

type gateID struct {
	key   core.MirrorKey
	epoch core.RegistrationEpoch
}

func (s *State) ledgerMode() int8 {
	switch {
	case len(s.gates) > 0:
		return ledgerSync
	case len(s.image.Released) > 0:
		return ledgerReleased
	default:
		return ledgerLocal
	}
}

func (s *State) stampNow() stamp {
	now := stamp{epoch: s.epoch, mode: s.ledgerMode(), released: s.image.Released}
	for _, g := range s.gates {
		now.gates = append(now.gates, gateID{g.Key, g.Epoch})
	}
	return now
}

// stamped reports whether the open stamp still says the truth.
func (s *State) stamped() bool {
	if !s.stampOpen || s.stamp.epoch != s.epoch || s.stamp.mode != s.ledgerMode() ||
		len(s.stamp.gates) != len(s.gates) || !slices.Equal(s.stamp.released, s.image.Released) {
		return false
	}
	for i, g := range s.gates {
		if s.stamp.gates[i] != (gateID{g.Key, g.Epoch}) {
			return false
		}
	}
	return true
}

// settleStamp opens a stamp when epoch, mode or gates differ from the open one. Acks under it go behind
// its entry (late) until that is on disk, then they need not wait for theirs (D3).
func (d *decision) settleStamp() {
	s := &d.s
	if !s.imaged || s.mode == Mirroring || s.stamped() {
		return
	}
	number := s.hard.Stamp + 1
	d.emit(StampOpened{
		Number: number, LeaderEpoch: s.epoch, Mode: s.ledgerMode(), From: s.hw,
		Gates: s.ledgerGates(), Released: s.releasedNames(), WallMs: d.now.Wall,
	})
	d.late(NoteStamp{Number: number})
}

// settleHighWatermark moves HW and confirms whom it reaches.
func (d *decision) settleHighWatermark() {
	s := &d.s
	if !s.imaged && serveFromElectionImage {
		return
	}
	from, to := s.hw, s.candidate(d.now.Mono)
	if to > from {
		d.hwMoved = true
		if s.mode == Mirroring {
			d.emit(HighWatermarkFollowed{To: to})
		} else {
			d.emit(HighWatermarkAdvanced{
				Stamp: s.hard.Stamp, LeaderEpoch: s.epoch, Mode: s.ledgerMode(), From: from, To: to,
				Replicas: s.ledgerReplicas(), Gates: s.ledgerGates(), WallMs: d.now.Wall,
			})
		}
	}
	n := s.reached(s.hw)
	if to == from && n == 0 {
		return
	}
	var confirmed []core.RequestID
	for _, w := range s.waiters[:n] {
		confirmed = append(confirmed, w.Ref)
	}
	if n > 0 {
		d.emit(AcksConfirmed{UpTo: s.hw})
	}
	advance := Advance{Epoch: s.epoch, HW: s.hw, Confirmed: confirmed, Shown: s.mode == Mirroring || !showWhenOnDisk}
	switch {
	case s.mode == Mirroring:
		d.early(advance)
	case s.stampOnDisk && !(s.image.StrictLedger && strictLedgerWaits):
		d.early(advance)
		if to > from {
			d.late(Show{Epoch: s.epoch, HW: s.hw})
		}
	default:
		advance.Shown = true // behind its own entry
		d.late(advance)
	}
}

// candidate is where HW may move to, by mode. It is never below HW.
func (s *State) candidate(now int64) core.Offset {
	local := s.counting(now)
	switch s.mode {
	case Mirroring:
		if s.tracked == core.Unknown {
			return s.hw
		}
		if !sourceHWBoundedByISR {
			return max(s.hw, s.tracked)
		}
		return min(max(s.hw, s.tracked), committed(s.hw, participants{local: local, underMin: s.underMinISR()}))
	case Stopping:
		hw := s.hw
		if publishedFloorAtStopping {
			// The source may have acked all of it, also when we are under min ISR now.
			hw = max(hw, s.published)
		}
		if low := lowest(local); s.underMinISR() && low != core.Unknown {
			// A new leader does not know what was stated before it. Every floor is on every electable
			// replica, so what all of them hold of the mirrored log covers it.
			return max(hw, min(low, s.epochStart))
		}
		return committed(hw, participants{local: local, underMin: s.underMinISR()})
	default:
		p := participants{local: local, floors: make([]core.Offset, 0, len(s.gates)), underMin: s.underMinISR()}
		for _, g := range s.gates {
			p.floors = append(p.floors, g.Floor)
			p.underMin = p.underMin || g.UnderSince != 0
		}
		return committed(s.hw, p)
	}
}

func (s *State) underMinISR() bool { return len(s.image.ISR) < int(s.image.MinISR) }

func (s *State) ledgerReplicas() []LedgerReplica {
	maximal := s.maximalISR()
	var list []LedgerReplica
	for _, p := range s.replicas {
		if contains(maximal, p.Replica) {
			list = append(list, LedgerReplica{Replica: p.Replica, LEO: p.LEO})
		}
	}
	return list
}

func (s *State) ledgerGates() []LedgerGate {
	var list []LedgerGate
	for _, g := range s.gates {
		list = append(list, LedgerGate{Cluster: g.Key.Cluster, Mirror: g.Key.Mirror, Epoch: g.Epoch, Floor: g.Floor, Class: s.class(g)})
	}
	slices.SortFunc(list, func(a, b LedgerGate) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Mirror, b.Mirror))
	})
	return list
}

func (s *State) releasedNames() []string {
	var names []string
	for _, k := range s.image.Released {
		names = append(names, k.String())
	}
	slices.Sort(names)
	return names
}
