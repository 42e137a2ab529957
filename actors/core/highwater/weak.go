package highwater

import "slices"

// weakAcked counts an acks=0/1 answer on a gated partition: nothing protects it, and describe, metrics
// and ledger say so (R13). A client's first one is on record at once, later ones once a second.
func (d *decision) weakAcked(c WeakAcked) {
	if !d.s.leading || c.Epoch != d.s.epoch || len(d.s.gates) == 0 || !ledgerWeakAcks {
		return
	}
	d.emit(WeakAckCounted{Acked: c})
}

func (s *State) countWeak(c WeakAcked) {
	weak := slices.Clone(s.weak)
	if len(weak) >= weakClientsMax && s.weakIndex(c.Acks, c.Client) < 0 {
		c.Client = "(others)"
	}
	i := s.weakIndex(c.Acks, c.Client)
	if i < 0 {
		weak = append(weak, weakTally{Acks: c.Acks, Client: c.Client, Flushed: never})
		i = len(weak) - 1
	}
	t := &weak[i]
	if t.Batches == 0 {
		t.From, t.To = c.From, c.To
	}
	t.From, t.To = min(t.From, c.From), max(t.To, c.To)
	t.Batches++
	t.Total++
	s.weak = weak
}

func (s *State) weakIndex(acks int16, client string) int {
	return slices.IndexFunc(s.weak, func(t weakTally) bool { return t.Acks == acks && t.Client == client })
}

func (s *State) weakFlushed(e WeakAcksGranted) {
	s.hard.Epoch = e.LeaderEpoch
	i := s.weakIndex(e.Acks, e.Client)
	if i < 0 {
		return // replay: the tally itself was volatile
	}
	weak := slices.Clone(s.weak)
	weak[i].Batches = 0
	s.weak = weak
}

// settleWeak writes the tallies that are due.
func (d *decision) settleWeak() {
	for i := range d.s.weak {
		t := d.s.weak[i]
		if t.Batches == 0 || d.now.Mono < t.dueAt() {
			continue
		}
		d.emit(WeakAcksGranted{
			LeaderEpoch: d.s.epoch, Acks: t.Acks, Client: t.Client, From: t.From, To: t.To,
			Batches: t.Batches, WallMs: d.now.Wall,
		})
		d.emit(WeakTallied{Acks: t.Acks, Client: t.Client, At: d.now.Mono})
	}
}

func (t weakTally) dueAt() int64 {
	if t.Flushed == never {
		return never
	}
	return t.Flushed + weakFlushEvery
}

func (s *State) weakTallied(e WeakTallied) {
	weak := slices.Clone(s.weak)
	if i := s.weakIndex(e.Acks, e.Client); i >= 0 {
		weak[i].Flushed = e.At
	}
	s.weak = weak
}
