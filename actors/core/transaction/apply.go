package transaction

import "slices"

func apply(s *State, ev Event) {
	switch ev := ev.(type) {
	case ProducerInitialized:
		s.put(ev.ID, s.txns[ev.ID].after(ev))
	case PartitionsAdded:
		s.put(ev.ID, s.txns[ev.ID].after(ev))
	case TransactionPrepared:
		s.put(ev.ID, s.txns[ev.ID].after(ev))
	case TransactionCompleted:
		s.put(ev.ID, s.txns[ev.ID].after(ev))
	case TransactionalIDExpired:
		s.put(ev.ID, nil)
	case SettingsChanged:
		s.settings = ev.Settings
	case LiveChanged:
		if ev.live == nil {
			delete(s.live, ev.ID)
		} else {
			s.live[ev.ID] = ev.live.clone()
		}
	case TimerArmed:
		s.armed = ev.At
	default:
		panic("transaction: unknown event")
	}
}

func (s *State) put(id string, r *TransactionRecord) {
	if old := s.txns[id]; old != nil {
		s.kept -= old.bytes()
	}
	if r == nil {
		delete(s.txns, id)
		return
	}
	s.txns[id] = r
	s.kept += r.bytes()
}

// after is the record once an event has happened; the record itself stays as it was. nil is an id that is not known:
// an event about it, which only a damaged journal holds, begins one.
func (r *TransactionRecord) after(ev DurableEvent) *TransactionRecord {
	var n TransactionRecord
	if r == nil {
		n = TransactionRecord{ProducerID: -1, PreviousID: -1, NextID: -1, Epoch: -1, LastEpoch: -1, StartMs: -1}
	} else {
		n = *r
	}
	switch e := ev.(type) {
	case ProducerInitialized:
		n.ID, n.ProducerID, n.PreviousID, n.NextID, n.Epoch, n.LastEpoch = e.ID, e.ProducerID, e.PreviousID, -1, e.Epoch, e.LastEpoch
		n.TimeoutMs, n.Phase, n.StartMs, n.UpdatedMs = e.TimeoutMs, int8(Empty), -1, e.At
		n.Partitions, n.Groups = nil, nil
	case PartitionsAdded:
		if n.phase() != Ongoing {
			n.Phase, n.StartMs = int8(Ongoing), e.At
			n.Partitions, n.Groups = nil, nil
		}
		n.ID, n.UpdatedMs = e.ID, e.At
		n.Partitions = append(slices.Clip(n.Partitions), e.Partitions...)
		n.Groups = append(slices.Clip(n.Groups), e.Groups...)
	case TransactionPrepared:
		n.ID, n.UpdatedMs, n.Phase = e.ID, e.At, int8(PrepareAbort)
		if e.Commit {
			n.Phase = int8(PrepareCommit)
		}
		if r == nil || r.phase() != Ongoing {
			n.StartMs = e.At // an abort without partitions
		}
		n.Epoch, n.LastEpoch, n.NextID = e.Epoch, e.LastEpoch, e.NextID
	case TransactionCompleted:
		n.ID, n.UpdatedMs = e.ID, e.At
		if n.phase() == PrepareCommit {
			n.Phase = int8(CompleteCommit)
		} else {
			n.Phase = int8(CompleteAbort)
		}
		if n.NextID >= 0 {
			n.PreviousID, n.ProducerID, n.Epoch, n.NextID = n.ProducerID, n.NextID, 0, -1
		}
		n.Partitions, n.Groups = nil, nil
	case TransactionalIDExpired:
	default:
		panic("transaction: unknown event")
	}
	return &n
}
