package transaction

import (
	"slices"
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
	for _, id := range s.ids() {
		r := s.txns[id]
		switch {
		case len(c.Producers) > 0 && !slices.Contains(c.Producers, r.ProducerID):
		case len(c.States) > 0 && !slices.ContainsFunc(c.States, func(f string) bool { return strings.EqualFold(f, r.phase().String()) }):
		case c.LongerMs >= 0 && (r.StartMs < 0 || now.Wall-r.StartMs <= c.LongerMs):
		default:
			listed.Txns = append(listed.Txns, ListedTransaction{ID: id, ProducerID: r.ProducerID, Phase: r.phase()})
		}
	}
	var out outcome
	answer(&out, listed)
	return out
}
