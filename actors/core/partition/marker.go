package partition

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// writeMarker appends the end of a transaction and waits until it is committed.
func (d *decision) writeMarker(c WriteMarker) {
	s := &d.s
	refuse := func(code perr.Code, text string) { d.late(MarkerWritten{Ref: c.Ref, Code: code, Text: text}) }
	switch {
	case !s.leading() || c.Epoch != s.epoch:
		refuse(perr.NotLeaderOrFollower, "")
		return
	case s.role == Stopping:
		refuse(perr.NotLeaderOrFollower, "the topic is about to be written here")
		return
	}
	closed, why := s.closedForMarkers()
	offset := s.leo
	if p := s.visible(d.was.producers[c.ProducerID]); len(p) > 0 {
		newest := p[len(p)-1]
		switch {
		case c.ProducerEpoch < newest.Epoch:
			refuse(perr.InvalidProducerEpoch, fmt.Sprintf("producer %d has epoch %d here, above %d", c.ProducerID, newest.Epoch, c.ProducerEpoch))
			return
		case newest.Marker && newest.Epoch == c.ProducerEpoch && markersAreIdempotent:
			offset = newest.Base // it has ended: this is the answer that was not heard
		}
	}
	switch open := s.txns.openOf(c.ProducerID) >= 0; {
	case offset != s.leo:
	case open && closed:
		refuse(perr.ReadOnlyTopic, why)
		return
	case !open && (closed || s.fence.Number != 0):
		// No client writes here, so there is nothing to end and nobody to fence; and LEO must be final (C8).
		d.late(MarkerWritten{Ref: c.Ref})
		return
	}
	if offset == s.leo {
		d.extend(batch.EndTxn(d.now.Wall, c.ProducerID, c.ProducerEpoch, batch.Marker{Commit: c.Commit, CoordinatorEpoch: c.CoordinatorEpoch}))
		d.report()
		d.publish()
		d.wake()
	}
	d.emit(ProduceParked{Ref: c.Ref, Wait: Wait{Base: offset, Marker: true}})
	d.tell(highwater.AwaitCommit{Ref: c.Ref, Epoch: s.epoch, Offset: offset + 1, Base: offset})
}

// closedForMarkers: only another cluster writes to the topic. A fence alone is passed, until the writes have moved.
func (s *State) closedForMarkers() (closed bool, why string) {
	switch {
	case s.role != Writable && mirrorsAreReadOnly:
		return true, "the topic is mirrored by " + string(s.mirror) + ": only its source writes to it"
	case s.fence.Number != 0 && (s.fence.Final || !markersPassTheFence):
		return true, s.fence.Text
	default:
		return false, ""
	}
}

// extend puts a batch of our own at the end of the log.
func (d *decision) extend(b batch.Batch) {
	b = b.Stamped(int64(d.s.leo), int32(d.s.epoch))
	d.append(b)
	d.push(b)
}

// describeProducers lists what is known of producers after the resets of the log.
func (s *State) describeProducers() []DescribedProducer {
	var list []DescribedProducer
	for _, id := range slices.Sorted(maps.Keys(s.producers)) {
		p := s.visible(s.producers[id])
		if len(p) == 0 {
			continue
		}
		out := DescribedProducer{ProducerID: id, Epoch: p[len(p)-1].Epoch, LastSequence: -1, LastTimestamp: -1, CoordinatorEpoch: -1, TxnStart: core.Unknown}
		for _, b := range p {
			out.LastTimestamp = max(out.LastTimestamp, b.At)
			switch {
			case b.Marker:
				out.CoordinatorEpoch = b.Coordinator
			case b.Epoch == out.Epoch:
				out.LastSequence = b.Last
			}
		}
		if at := s.txns.openOf(id); at >= 0 {
			out.TxnStart = s.txns.Open[at].First
		}
		list = append(list, out)
	}
	return list
}
