package highwater

import (
	"fmt"
	"sort"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// await parks a batch, or refuses it when its epoch is over: it is never confirmed by another epoch's
// HW (R6, F54). A batch that slipped past the refusal of admission is answered like those before it.
func (d *decision) await(c AwaitCommit) {
	s := &d.s
	if !s.leading || (c.Epoch != s.epoch && dropWaitersWithEpoch) {
		d.early(Refuse{Epoch: c.Epoch, Refs: []core.RequestID{c.Ref}, Code: perr.NotLeaderOrFollower})
		return
	}
	d.emit(AckParked{Waiter: Waiter{Ref: c.Ref, Offset: c.Offset, Base: c.Base, Bytes: c.Bytes, Deadline: c.Deadline}})
}

func (s *State) park(w Waiter) {
	at := sort.Search(len(s.waiters), func(i int) bool { return s.waiters[i].Offset > w.Offset })
	if at == len(s.waiters) {
		s.waiters = append(s.waiters, w)
	} else {
		// A duplicate waits for the offset of its original, below newer batches (R7).
		next := make([]Waiter, 0, len(s.waiters)+1)
		s.waiters = append(append(append(next, s.waiters[:at]...), w), s.waiters[at:]...)
	}
	s.waitBytes += w.Bytes
	s.soonest = earlier(s.soonest, w.Deadline)
}

// earlier is the earlier of two instants, where 0 is none.
func earlier(a, b int64) int64 {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// reached counts the waiters that HW confirms (R1: Offset is the last offset of the batch + 1).
func (s *State) reached(hw core.Offset) int {
	return sort.Search(len(s.waiters), func(i int) bool { return s.waiters[i].Offset > hw })
}

func (s *State) confirm(hw core.Offset) {
	n := s.reached(hw)
	for _, w := range s.waiters[:n] {
		s.waitBytes -= w.Bytes
	}
	s.waiters = s.waiters[n:]
	if len(s.waiters) == 0 {
		s.waiters, s.soonest = nil, 0
	}
}

func (s *State) drop(refs []core.RequestID) {
	gone := make(map[core.RequestID]bool, len(refs))
	for _, ref := range refs {
		gone[ref] = true
	}
	var left []Waiter
	s.soonest = 0
	for _, w := range s.waiters {
		if gone[w.Ref] {
			s.waitBytes -= w.Bytes
			continue
		}
		left = append(left, w)
		s.soonest = earlier(s.soonest, w.Deadline)
	}
	s.waiters = left
}

// lookAgain finds the earliest deadline left after the clock passed the old one.
func (s *State) lookAgain() {
	s.soonest = 0
	for _, w := range s.waiters {
		s.soonest = earlier(s.soonest, w.Deadline)
	}
}

// settleTimeouts answers waiters whose time is over. Who is behind decides the code (R10): our own ISR
// is a time-out like any other, a mirror is named.
func (d *decision) settleTimeouts() {
	s := &d.s
	if s.soonest == 0 || s.soonest > d.now.Mono {
		return
	}
	var refs []core.RequestID
	for _, w := range s.waiters {
		if w.Deadline == 0 || w.Deadline > d.now.Mono {
			continue
		}
		refs = append(refs, w.Ref)
		local := lowest(s.counting(d.now.Mono))
		slowest, gated := s.slowestGate()
		switch {
		case s.underMinISR():
			d.refuse([]core.RequestID{w.Ref}, perr.RequestTimedOut, fmt.Sprintf(
				"appended at offset %d, not committed: in-sync replicas %v are fewer than min.insync.replicas %d", w.Base, s.image.ISR, s.image.MinISR))
		case local == core.Unknown || local < w.Offset || !gated || !nameSlowestMirror:
			d.refuse([]core.RequestID{w.Ref}, perr.RequestTimedOut, fmt.Sprintf(
				"appended at offset %d, not yet durable on the in-sync replicas %v", w.Base, s.maximalISR()))
		default:
			d.refuse([]core.RequestID{w.Ref}, perr.MirrorSyncReplicationTimeout, fmt.Sprintf(
				"appended at offset %d, not yet durable on %s", w.Base, slowest.Key.Mirror))
		}
	}
	if len(refs) == 0 && !forgetPassedDeadlines {
		return
	}
	// With no refs the deadline was that of a batch that is confirmed, as those are that come late and that HW has reached
	// already: left as the earliest, it would keep the timer of all later ones from being armed.
	d.looked = d.looked || len(refs) > 0
	d.emit(AcksDropped{Refs: refs})
}

// settleUnderMin gives up on waiters while a mirror has been under its min ISR for longer than a flap:
// their records stay in the log and may be committed later (R9).
func (d *decision) settleUnderMin() {
	s := &d.s
	g, refused := s.refusingGate(d.now.Mono)
	if !refused || len(s.waiters) == 0 {
		return
	}
	var refs []core.RequestID
	for _, w := range s.waiters {
		if w.Deadline != 0 {
			refs = append(refs, w.Ref)
		}
	}
	if len(refs) == 0 {
		return
	}
	d.refuse(refs, perr.NotEnoughRemoteReplicasAfterAppend, fmt.Sprintf("appended, not committed: %s", underMinText(g)))
	d.emit(AcksDropped{Refs: refs})
}
