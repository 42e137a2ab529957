package partition

import (
	"math"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// duplicateWindow is how many batches of a producer a retry may be a duplicate of, as in Kafka.
const duplicateWindow = 5

// producer is what the log says of one producer id: its batches, and the ends of its transactions, by offset. All at or above the noted HW
// are kept, so that a truncation can roll the state back to any prefix it may cut to, and the last five
// below it, which is what a retry is compared with (C13).
type producer []producerBatch

type producerBatch struct {
	Epoch         int16
	First, Last   int32 // sequences
	Base          core.Offset
	End           core.Offset // last offset, inclusive
	Transactional bool
	Marker        bool  // the end of a transaction: First and Last are -1
	Coordinator   int32 // epoch of the coordinator that wrote the marker, -1: none
	At            int64 // newest timestamp of the batch, Unix ms
}

// pidReset is a MIRROR_PID_RESET batch of the log. Batches below it are not deleted but hidden while it
// could still be truncated.
type pidReset struct {
	Offset         core.Offset
	Epoch          core.LeaderEpoch
	KeepIdempotent bool
}

// visible is the producer's state after the resets of the log.
func (s *State) visible(p producer) producer {
	for len(p) > 0 && s.hidden(p[0]) {
		p = p[1:]
	}
	return p
}

func (s *State) hidden(b producerBatch) bool {
	if !resetDropsProducers {
		return false
	}
	for _, r := range s.resets {
		if b.Base < r.Offset && (b.Transactional || !r.KeepIdempotent || !resetKeepsIdempotent) {
			return true
		}
	}
	return false
}

// checkSequence judges a client batch as Kafka does. original is set for a duplicate. Error 46 is never
// an answer: clients take it for success (R7).
func (s *State) checkSequence(b batch.Batch) (original producerBatch, duplicate bool, code perr.Code) {
	if b.ProducerID < 0 {
		return producerBatch{}, false, 0
	}
	p := s.visible(s.producers[b.ProducerID])
	if len(p) == 0 {
		return producerBatch{}, false, 0 // unknown id: fresh state at any sequence (KIP-360, T05)
	}
	newest := p[len(p)-1]
	switch {
	case b.ProducerEpoch < newest.Epoch:
		return producerBatch{}, false, perr.InvalidProducerEpoch
	case b.ProducerEpoch > newest.Epoch:
		if b.BaseSequence != 0 {
			return producerBatch{}, false, perr.OutOfOrderSequenceNumber
		}
		return producerBatch{}, false, 0
	}
	last := addSequence(b.BaseSequence, b.LastOffsetDelta)
	next, seen := int32(0), 0 // a marker may have begun the epoch, then the first batch has sequence 0
	for i := len(p) - 1; i >= 0 && seen < duplicateWindow && p[i].Epoch == b.ProducerEpoch; i-- {
		if p[i].Marker {
			continue
		}
		if seen == 0 {
			next = addSequence(p[i].Last, 1)
		}
		if p[i].First == b.BaseSequence && p[i].Last == last {
			return p[i], true, 0
		}
		seen++
	}
	if b.BaseSequence != next {
		return producerBatch{}, false, perr.OutOfOrderSequenceNumber
	}
	return producerBatch{}, false, 0
}

// addSequence wraps as clients do: 2147483647 is followed by 0 (T03).
func addSequence(sequence, delta int32) int32 {
	return int32((int64(sequence) + int64(delta)) % (math.MaxInt32 + 1))
}

// noteProducer takes a batch of the log into producer state, on leader, follower and replay alike. The
// map is absent in the copy Decide works on.
func (s *State) noteProducer(b batch.Batch) {
	if s.producers == nil {
		return
	}
	if b.ProducerID < 0 {
		return
	}
	one := producerBatch{
		Epoch: b.ProducerEpoch, First: b.BaseSequence, Last: addSequence(b.BaseSequence, b.LastOffsetDelta),
		Base: core.Offset(b.BaseOffset), End: core.Offset(b.LastOffset()),
		Transactional: b.IsTransactional(), Coordinator: -1, At: b.MaxTimestamp,
	}
	if b.IsControl() {
		m, ends := b.EndOfTxn()
		if !ends {
			return
		}
		one.First, one.Last, one.Transactional, one.Marker, one.Coordinator = -1, -1, true, true, m.CoordinatorEpoch
	}
	s.producers[b.ProducerID] = s.forget(append(s.producers[b.ProducerID], one))
}

// forget drops what no truncation can bring back and no retry can name.
func (s *State) forget(p producer) producer {
	below := 0
	for below < len(p) && p[below].End < s.note {
		below++
	}
	drop := below
	for batches := 0; drop > 0 && batches < duplicateWindow && below-drop < 2*duplicateWindow; drop-- {
		if !p[drop-1].Marker {
			batches++
		}
	}
	if drop > 0 {
		return p[:copy(p, p[drop:])]
	}
	return p
}

// noteReset takes a MIRROR_PID_RESET batch of the log into account.
func (s *State) noteReset(b batch.Batch) {
	if !b.IsControl() {
		return
	}
	if keep, err := b.PidReset(); err == nil {
		s.resets = append(s.resets[:len(s.resets):len(s.resets)], pidReset{
			Offset: core.Offset(b.BaseOffset), Epoch: core.LeaderEpoch(b.LeaderEpoch), KeepIdempotent: keep == batch.KeepIdempotent,
		})
	}
}

// cutProducers rolls producer state back to the prefix below to.
func (s *State) cutProducers(to core.Offset) {
	n := len(s.resets)
	for n > 0 && s.resets[n-1].Offset >= to {
		n--
	}
	s.resets = s.resets[:n:n]
	if !producersFollowTheLog {
		return
	}
	for id, p := range s.producers {
		n := len(p)
		for n > 0 && p[n-1].End >= to {
			n--
		}
		if n == 0 {
			delete(s.producers, id)
		} else if n < len(p) {
			s.producers[id] = append(producer(nil), p[:n]...)
		}
	}
}
