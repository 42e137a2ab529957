package highwater

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
)

// Apply is total: what happened has happened.
func Apply(s *State, ev Event) {
	switch e := ev.(type) {
	case StampOpened:
		s.hard.Stamp, s.hard.Epoch = e.Number, e.LeaderEpoch
		s.stampOpen, s.stampOnDisk, s.stamp = true, false, s.stampNow()
	case HighWatermarkAdvanced:
		s.hard.Epoch, s.hard.To = e.LeaderEpoch, e.To
		s.hw = max(s.hw, e.To)
	case WeakAcksGranted:
		s.weakFlushed(e)
	case LedgerGap:
		s.hard.Epoch, s.hard.To = e.LeaderEpoch, max(s.hard.To, e.To)
	case LeaderBegan:
		s.begin(e)
	case ImageArrived:
		if s.leading && e.Image.Epoch == s.epoch {
			if e.Image.MirrorOf != s.image.MirrorOf {
				s.statedAt = never // another registration or other data: say it again at once
			}
			s.image = e.Image
			s.applyImage(e.At)
		} else {
			s.ahead = e.Image
		}
	case ReplicaProgressed:
		s.progressed(e)
	case TermBegan:
		s.beginTerm(e)
	case SourceTracked:
		if e.HW != core.Unknown {
			s.tracked, s.h = max(s.tracked, e.HW), max(s.h, e.HW)
		}
		s.waits = e.Waits
	case AckParked:
		s.park(e.Waiter)
	case AcksConfirmed:
		s.confirm(e.UpTo)
	case AcksDropped:
		s.drop(e.Refs)
	case FloorHeard:
		s.heard(e)
	case AdditionConfirmed:
		gates := s.ownGates()
		for i := range gates {
			gates[i].Confirmed = gates[i].Confirmed || gates[i].Key == e.Key
		}
	case ListHeard:
		s.listHeard(e)
	case FloorStated:
		s.floor = e.Floor
		s.published = max(s.published, e.Floor)
		s.r = max(s.r, e.Floor)
		s.statedISR, s.statedAt, s.seq = e.ISRSize, e.At, e.Seq
	case ISRProposed:
		sent := 1
		if s.pending.On && s.pending.PartitionEpoch == e.PartitionEpoch {
			sent = s.pending.Sent + 1
		}
		s.pending = proposal{On: true, PartitionEpoch: e.PartitionEpoch, ISR: e.ISR, At: e.At, Sent: sent}
	case ISRProposalRefused:
		s.proposalRefused(e)
	case HighWatermarkFollowed:
		s.hw = max(s.hw, e.To)
	case AdmissionTold:
		s.told = e.Admission
	case GatesTold:
		s.toldGates, s.toldWaiters = true, e.HasWaiters
		gates := s.ownGates()
		for i := range gates {
			gates[i].HoldsSince = e.Holds[i]
		}
	case WeakAckCounted:
		s.countWeak(e.Acked)
	case WeakTallied:
		s.weakTallied(e)
	case StampConfirmed:
		s.stampOnDisk = s.stampOnDisk || (s.stampOpen && e.Number == s.hard.Stamp)
	case SteppedDown:
		s.leading, s.imaged = false, false
		s.waiters, s.waitBytes = nil, 0
		s.gates, s.weak, s.pending = nil, nil, proposal{}
	case TimerArmed:
		s.timer = e.At
		if e.At == 0 {
			s.lookAgain()
		}
	default:
		panic(fmt.Sprintf("highwater: unknown event %T", ev))
	}
}

func (s *State) begin(e LeaderBegan) {
	c := e.Started
	continues := s.leading // an epoch raised in place: the same log, nothing was cut in between
	was := s.soft
	s.soft = soft{
		leading: true, epoch: c.Epoch, epochStart: c.EpochStart, self: c.Self, mode: c.Mode, hw: c.HW,
		ahead: was.ahead, adopted: core.NoEpoch, tracked: core.Unknown, floor: core.Unknown,
		published: core.Unknown, h: core.Unknown, statedAt: never, timer: was.timer,
	}
	if continues {
		s.hw = max(s.hw, was.hw)
		s.published, s.h = was.published, was.h
	}
	if floorMarkStartsAtLEO {
		s.r = c.LEO
	}
	if !dropWaitersWithEpoch {
		s.waiters, s.waitBytes = was.waiters, was.waitBytes
	}
	for _, r := range c.Replicas {
		s.replicas = append(s.replicas, progress{Replica: r, LEO: core.Unknown, CaughtUp: never, RefusedAt: never})
	}
	if !forgetReportsOnEpoch {
		s.gates = was.gates
	}
	if s.ahead.Epoch == s.epoch && s.ahead.Version > 0 {
		s.image = s.ahead
		s.applyImage(e.At)
	}
}

// applyImage takes over what the controller committed and the ledger registered.
func (s *State) applyImage(at int64) {
	img := s.image
	if !s.imaged {
		// ISR members get the whole lag time to report to a new leader, as in Kafka.
		replicas := slices.Clone(s.replicas)
		for i := range replicas {
			if contains(img.ISR, replicas[i].Replica) {
				replicas[i].CaughtUp = at
			}
		}
		s.replicas, s.imaged = replicas, true
	}
	if s.pending.On && img.PartitionEpoch > s.pending.PartitionEpoch {
		s.pending = proposal{}
	}
	s.mode = img.Mode
	var gates []gate
	for _, g := range img.Gates {
		gates = append(gates, s.gateFor(g))
	}
	s.gates = gates
}

// gateFor keeps what is known of a mirror as long as registration and data are the same, else it is
// Unknown and blocks: a floor of other data would open the gate for records nobody has (R2, F44).
func (s *State) gateFor(g Gate) gate {
	for _, old := range s.gates {
		same := old.Epoch == g.Epoch && old.Incarnation == g.Incarnation
		if old.Key == g.Key && (same || !resetOnRegistration) {
			old.Gate = g
			return old
		}
	}
	start := s.end()
	if !gateStartIsLEO {
		start = s.hw
	}
	return gate{Gate: g, Start: start, Floor: core.Unknown, MinISR: max(1, g.MinISR), LastReport: never}
}

func (s *State) beginTerm(e TermBegan) {
	c := e.Adopted
	replicas := slices.Clone(s.replicas)
	end := s.end()
	for i := range replicas {
		p := &replicas[i]
		if p.LEO != core.Unknown && p.LEO >= end {
			p.CaughtUp = max(p.CaughtUp, e.At)
		}
		if requireMirrorTerm || p.Replica == s.self {
			p.LEO = core.Unknown
		}
		p.EndThen = core.Unknown
	}
	s.replicas, s.term = replicas, c.Term
	if c.SourceEpoch != s.adopted || c.SourceIncarnation != s.adoptedOf {
		s.tracked = core.Unknown
	}
	s.adopted, s.adoptedOf, s.floor, s.statedAt = c.SourceEpoch, c.SourceIncarnation, core.Unknown, never
	if c.Truncated {
		s.hw, s.r, s.h = min(s.hw, c.LEO), min(s.r, c.LEO), min(s.h, c.LEO)
		s.published, s.epochStart = min(s.published, c.LEO), min(s.epochStart, c.LEO)
	}
	if !floorMarkSurvivesEpochs {
		s.r = 0
	}
}

func (s *State) heard(e FloorHeard) {
	r := e.Report
	gates := s.ownGates()
	for i := range gates {
		g := &gates[i]
		if !g.hears(r.Key) {
			continue
		}
		if keepMaximumFloor {
			g.Floor = max(g.Floor, r.Floor)
		} else if r.Floor != core.Unknown {
			g.Floor = r.Floor
		}
		newest := !g.Heard || r.DestEpoch > g.DestEpoch || (r.DestEpoch == g.DestEpoch && r.Seq > g.Seq)
		if newest || !underMinFromNewest {
			g.DestEpoch, g.Seq, g.ISRSize, g.Unsynced = r.DestEpoch, r.Seq, r.ISRSize, r.Unsynced
			if r.ISRSize >= g.MinISR {
				g.UnderSince = 0
			} else if g.UnderSince == 0 {
				g.UnderSince = max(e.At, 1)
			}
		}
		g.Heard, g.LastReport = true, max(g.LastReport, e.At)
	}
}
