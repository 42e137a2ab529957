package transaction

import (
	"strings"

	"lockstep/actors/core"
)

func (s *State) describe(c DescribeTransaction) outcome {
	d := Described{Ref: c.Ref}
	if r := s.txns[c.ID]; r != nil {
		d.Found, d.Txn = true, *r
	}
	var out outcome
	answer(&out, d)
	return out
}

func (s *State) list(c ListTransactions, now core.Now) outcome {
	listed := Listed{Ref: c.Ref}
	states, producers := map[Phase]bool{}, producerSet(c.Producers)
	for _, name := range c.States {
		for p := Empty; p <= CompleteAbort; p++ {
			if strings.EqualFold(name, p.String()) {
				states[p] = true
			}
		}
	}
	for _, id := range s.ids() {
		r := s.txns[id]
		switch {
		case len(c.Producers) > 0 && !producers[r.ProducerID]:
		case len(c.States) > 0 && !states[r.phase()]:
		case c.LongerMs >= 0 && (r.StartMs < 0 || now.Wall-r.StartMs <= c.LongerMs):
		default:
			listed.Txns = append(listed.Txns, ListedTransaction{ID: id, ProducerID: r.ProducerID, Phase: r.phase()})
		}
	}
	var out outcome
	answer(&out, listed)
	return out
}

// producerSet is made once for a question that is asked of every id.
func producerSet(list []int64) map[int64]bool {
	set := make(map[int64]bool, min(len(list), 1024))
	for _, id := range list {
		set[id] = true
	}
	return set
}
