package transaction

func apply(s *State, ev Event) {
	switch ev := ev.(type) {
	case ProducerInitialized:
		s.put(ev.ID, s.txns[ev.ID].after(ev))
	case PartitionsAdded:
		s.widen(ev)
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
	case MarkerNoted:
		if l := s.live[ev.ID]; l != nil && ev.ended {
			delete(l.due, ev.Target)
		} else if l != nil {
			l.due[ev.Target] = ev.due
		}
	case TimerArmed:
		s.armed = ev.At
	default:
		panic("transaction: unknown event")
	}
}

// widen takes one step for each place that is added, however many the transaction has: clients add them one by one.
func (s *State) widen(ev PartitionsAdded) {
	old := s.txns[ev.ID]
	r := old.after(ev)
	if old == nil || old.phase() != Ongoing {
		s.put(ev.ID, r)
		return
	}
	s.txns[ev.ID] = r
	added := TransactionRecord{Partitions: ev.Partitions, Groups: ev.Groups}
	s.kept += added.placesBytes()
	for _, t := range added.targets() {
		s.open[ev.ID][t] = true
	}
}

func (s *State) put(id string, r *TransactionRecord) {
	if old := s.txns[id]; old != nil {
		s.kept -= old.bytes()
	}
	delete(s.open, id)
	if r != nil && r.phase() == Ongoing {
		s.open[id] = map[Target]bool{}
		for _, t := range r.targets() {
			s.open[id][t] = true
		}
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
		// Appending in place is safe: whoever holds the record as it was reads no further than its own length.
		n.Partitions = append(n.Partitions, e.Partitions...)
		n.Groups = append(n.Groups, e.Groups...)
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
