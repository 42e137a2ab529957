package partition

import (
	"cmp"
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// encode journals a batch as itself, so that the bytes consumers read are the bytes that were synced.
func encode(ev Event) (core.Entry, bool) {
	switch e := ev.(type) {
	case BatchAppended:
		return core.Entry{
			Kind: core.EntryBatch, Op: core.IndexAdd,
			Base: core.Offset(e.Batch.BaseOffset), Last: core.Offset(e.Batch.LastOffset()),
			Epoch: core.LeaderEpoch(e.Batch.LeaderEpoch), MaxTimestamp: e.Batch.MaxTimestamp,
			Note: e.Note, Payload: e.Batch.Bytes,
		}, true
	case BatchCleaned:
		return core.Entry{
			Kind: core.EntryBatch, Op: core.IndexReplace,
			Base: core.Offset(e.Batch.BaseOffset), Last: core.Offset(e.Batch.LastOffset()),
			Epoch: core.LeaderEpoch(e.Batch.LeaderEpoch), MaxTimestamp: e.Batch.MaxTimestamp,
			Note: e.Limit, Payload: e.Batch.Bytes,
		}, true
	case LogTruncated:
		return core.Entry{Kind: core.EntryEvent, Op: core.IndexTruncate, Base: e.To, Payload: EncodeEvent(e)}, true
	case LogStartAdvanced:
		return core.Entry{Kind: core.EntryEvent, Op: core.IndexTrim, Base: e.To, Payload: EncodeEvent(e)}, true
	case DurableEvent:
		return core.Entry{Kind: core.EntryEvent, Payload: EncodeEvent(e)}, true
	default:
		return core.Entry{}, false
	}
}

func decode(entry core.Entry) (Event, error) {
	switch entry.Kind {
	case core.EntryBatch:
		b, rest, err := batch.Parse(entry.Payload)
		if err != nil {
			return nil, fmt.Errorf("partition: batch at offset %d: %w", entry.Base, err)
		}
		if len(rest) != 0 {
			return nil, fmt.Errorf("partition: batch at offset %d is followed by %d bytes", entry.Base, len(rest))
		}
		if entry.Op == core.IndexReplace {
			return BatchCleaned{Batch: b, Limit: entry.Note}, nil
		}
		return BatchAppended{Batch: b, Note: entry.Note}, nil
	case core.EntryEvent:
		ev, err := DecodeEvent(entry.Payload)
		if err != nil {
			return nil, err
		}
		return ev, nil
	default:
		return nil, fmt.Errorf("partition: entry of kind %d", entry.Kind)
	}
}

func snapshot(s *State) []byte {
	snap := Snapshot{
		LogStart: s.logStart, LEO: s.leo, Note: s.note, Led: s.led, Adopted: s.adopted, SourceHW: s.sourceHW,
		Mirroring: s.mirroring, Fenced: s.fenced, WasFenced: s.wasFenced, LME: s.lme, FencedLEO: s.fencedLEO,
		AdoptedIncarnation: s.adoptedOf, Cleaned: s.cleaned, Emptied: s.emptied, Horizon: s.horizon,
	}
	for _, e := range s.epochs {
		snap.Epochs = append(snap.Epochs, SnapshotEpoch(e))
	}
	for _, r := range s.resets {
		snap.Resets = append(snap.Resets, SnapshotReset(r))
	}
	for _, e := range s.empties {
		snap.Empties = append(snap.Empties, SnapshotEmpty(e))
	}
	for _, t := range s.txns.Open {
		snap.Open = append(snap.Open, SnapshotOpenTxn(t))
	}
	for _, t := range s.txns.ended {
		snap.Ended = append(snap.Ended, SnapshotEndedTxn(t))
	}
	for _, t := range s.txns.Aborted {
		snap.Aborted = append(snap.Aborted, SnapshotAbortedTxn(t))
	}
	for id, p := range s.producers {
		of := SnapshotProducer{ID: id}
		for _, b := range p {
			of.Batches = append(of.Batches, SnapshotBatch{
				Epoch: b.Epoch, FirstSequence: b.First, LastSequence: b.Last, Base: b.Base, Last: b.End, Transactional: b.Transactional,
				Marker: b.Marker, CoordinatorEpoch: b.Coordinator, Timestamp: b.At,
			})
		}
		snap.Producers = append(snap.Producers, of)
	}
	slices.SortFunc(snap.Producers, func(a, b SnapshotProducer) int { return cmp.Compare(a.ID, b.ID) })
	return snap.AppendTo(nil)
}

func restore(id string, data []byte) (*State, error) {
	var snap Snapshot
	if err := snap.ReadFrom(data); err != nil {
		return nil, fmt.Errorf("partition %s: snapshot: %w", id, err)
	}
	s := New(id)
	s.logStart, s.leo, s.note, s.led = snap.LogStart, snap.LEO, snap.Note, snap.Led
	s.adopted, s.adoptedOf, s.sourceHW, s.mirroring = snap.Adopted, snap.AdoptedIncarnation, snap.SourceHW, snap.Mirroring
	s.fenced, s.wasFenced, s.lme, s.fencedLEO = snap.Fenced, snap.WasFenced, snap.LME, snap.FencedLEO
	s.cleaned, s.emptied, s.horizon = snap.Cleaned, snap.Emptied, snap.Horizon
	s.hw = min(snap.Note, snap.LEO)
	for _, e := range snap.Epochs {
		s.epochs = append(s.epochs, EpochStart(e))
	}
	for _, r := range snap.Resets {
		s.resets = append(s.resets, pidReset(r))
	}
	for _, e := range snap.Empties {
		s.empties = append(s.empties, emptyBatch(e))
	}
	for _, t := range snap.Open {
		s.txns.Open = append(s.txns.Open, OpenTxn(t))
	}
	for _, t := range snap.Ended {
		s.txns.ended = append(s.txns.ended, endedTxn(t))
	}
	for _, t := range snap.Aborted {
		s.txns.Aborted = append(s.txns.Aborted, AbortedTxn(t))
	}
	for _, p := range snap.Producers {
		var of producer
		for _, b := range p.Batches {
			of = append(of, producerBatch{
				Epoch: b.Epoch, First: b.FirstSequence, Last: b.LastSequence, Base: b.Base, End: b.Last, Transactional: b.Transactional,
				Marker: b.Marker, Coordinator: b.CoordinatorEpoch, At: b.Timestamp,
			})
		}
		s.producers[p.ID] = of
	}
	return s, nil
}
