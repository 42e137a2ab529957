package partition

import "lockstep/actors/core"

// Producers that were idle for long are forgotten, as in Kafka (T05). Batches of a log are in the order of time, so who was
// idle for long is said by one offset: whose newest batch ends below it. The leader decides it. Followers take it over with
// what their leader pushes, mirrors from what fetch answers state, each once its own HW is there: so nobody forgets a producer
// before whoever it may take over from has, and a retry finds at the next leader what it would have found at this one.

// ForgetProducers asks the leader of Epoch to forget whose newest batch ends below Before, as far as it is committed. Where
// clients may not write it does nothing: the log is another cluster's to judge.
type ForgetProducers struct {
	Epoch  core.LeaderEpoch
	Before core.Offset
}

func (ForgetProducers) isCommand() {}

func (d *decision) forgetProducers(c ForgetProducers) {
	s := &d.s
	if code, _ := s.closedForClients(); code != 0 || c.Epoch != s.epoch {
		return
	}
	before := min(c.Before, s.hw)
	if d.was.forgets(before) && d.followForgetting(before) {
		d.publish()
		d.pushHighWatermark() // carries it to followers
	}
}

// followForgetting takes over what the leader, or the source, has forgotten. Before our HW is there it is not yet true here:
// who wrote below may have written since.
func (d *decision) followForgetting(before core.Offset) bool {
	s := &d.s
	if before <= s.forgotten || before > s.hw && forgetCommittedOnly {
		return false
	}
	d.emit(ProducersForgotten{Before: before, WallMs: d.now.Wall})
	return true
}

// forgets reports whether there is a producer that would be forgotten.
func (s *State) forgets(before core.Offset) bool {
	highest := HighestProducerIDs(s)
	for id, p := range s.producers {
		if s.idle(id, p, before, highest) {
			return true
		}
	}
	return false
}

// idle reports whether a producer is forgotten with those below before: not while its transaction is open, and not the highest
// of its prefix, above which ids are handed out (C13).
func (s *State) idle(id int64, p producer, before core.Offset, highest map[int32]int64) bool {
	switch {
	case p[len(p)-1].End >= before:
		return false
	case s.txns.openOf(id) >= 0 && openProducersStay:
		return false
	default:
		return highest[int32(id>>32)] != id || !highestProducerStays
	}
}

func (s *State) forgetBelow(before core.Offset) {
	s.forgotten = max(s.forgotten, before)
	if len(s.producers) == 0 {
		return
	}
	highest := HighestProducerIDs(s)
	for id, p := range s.producers {
		if s.idle(id, p, before, highest) {
			delete(s.producers, id)
		}
	}
}
