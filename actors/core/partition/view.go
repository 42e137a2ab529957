package partition

import "lockstep/actors/core"

// publish replaces what readers see. It is late, so LEO is on disk when they see it.
func (d *decision) publish() { d.late(PublishView{View: Describe(&d.s)}) }

// Describe is the view of a state; after a replay, what its stream says.
func Describe(s *State) View {
	return View{
		Leader: s.leader, Epoch: s.epoch, IsLeader: s.leading(), Role: s.role,
		LogStart: s.logStart, Forgotten: s.forgotten, HW: s.readable(), LSO: s.txns.LSO(s.readable()), Coming: s.hw, LEO: s.leo, Adopted: s.adopted, AdoptedIncarnation: s.adoptedOf, Mirroring: s.mirroring,
		Confirms: s.leading() && s.readable() >= s.epochStart,
		Fence:    s.fence.Number, Epochs: s.epochs, Txns: s.txns, Cleaned: s.cleaned, Horizon: s.horizon, Text: s.trouble,
	}
}

// Shown is the view of a leader whose predecessor in this process has shown readers everything below hw, which its own
// ledger may still have to write down: HW does not go back for the milliseconds between (I14).
func (v View) Shown(hw core.Offset) View {
	if hw > v.HW {
		v.HW, v.LSO, v.Coming = hw, v.Txns.LSO(hw), max(hw, v.Coming)
	}
	return v
}

// HighestProducerIDs is the highest producer id in the log for each prefix (the upper half of an id): a
// counter that was restored must not hand one out again (C13).
func HighestProducerIDs(s *State) map[int32]int64 {
	highest := map[int32]int64{}
	for id := range s.producers {
		prefix := int32(id >> 32)
		highest[prefix] = max(highest[prefix], id)
	}
	return highest
}

// LastMirrorEpoch is the epoch and end of what was mirrored, once mirroring has been fenced.
func LastMirrorEpoch(s *State) (core.LeaderEpoch, core.Offset, bool) {
	return s.lme, s.fencedLEO, s.wasFenced
}
