package group

import (
	"cmp"
	"slices"
)

// heldOffsets are the positions of a group that open transactions hold, each once for a producer. A transaction may hold as
// many as there are partitions, and the members of a group have one each: a step looks only at what it is about.
type heldOffsets struct {
	by    map[int64][]*heldOffset    // by producer, in no order
	at    map[position][]*heldOffset // in no order
	order int64                      // of the newest
}

// heldOffset is one of them.
type heldOffset struct {
	TxnOffsetRecord
	order int64 // in which they were stored
	index int   // in by
}

func (r TxnOffsetRecord) at() position { return position{r.Offset.Topic, r.Offset.Partition} }

// hold keeps a position beside the group; one that the transaction stored before is replaced.
func (s *State) hold(group string, r TxnOffsetRecord) {
	h := s.pending[group]
	if h == nil {
		h = &heldOffsets{by: map[int64][]*heldOffset{}, at: map[position][]*heldOffset{}}
		s.pending[group] = h
	}
	if i := slices.IndexFunc(h.at[r.at()], func(o *heldOffset) bool { return o.ProducerID == r.ProducerID }); i >= 0 {
		s.kept -= h.remove(h.at[r.at()][i])
	}
	h.order++
	one := &heldOffset{TxnOffsetRecord: r, order: h.order, index: len(h.by[r.ProducerID])}
	h.by[r.ProducerID] = append(h.by[r.ProducerID], one)
	h.at[r.at()] = append(h.at[r.at()], one)
	s.kept += r.Offset.bytes()
}

// letGo forgets a position, or has taken it over.
func (s *State) letGo(group string, one *heldOffset) {
	h := s.pending[group]
	s.kept -= h.remove(one)
	if len(h.by) == 0 {
		delete(s.pending, group)
	}
}

// letGoAll forgets what all transactions hold of a group.
func (s *State) letGoAll(group string) {
	for _, r := range s.pending[group].list() {
		s.kept -= r.Offset.bytes()
	}
	delete(s.pending, group)
}

// remove takes one out and returns its bytes.
func (h *heldOffsets) remove(one *heldOffset) int64 {
	mine := h.by[one.ProducerID]
	last := len(mine) - 1
	mine[one.index], mine[last].index = mine[last], one.index
	mine[last] = nil
	if h.by[one.ProducerID] = mine[:last]; last == 0 {
		delete(h.by, one.ProducerID)
	}
	at := slices.DeleteFunc(h.at[one.at()], func(o *heldOffset) bool { return o == one })
	if h.at[one.at()] = at; len(at) == 0 {
		delete(h.at, one.at())
	}
	return one.Offset.bytes()
}

// list is all of them in the order in which they were stored; nil holds none.
func (h *heldOffsets) list() (list []TxnOffsetRecord) {
	if h == nil {
		return nil
	}
	var all []*heldOffset
	for _, mine := range h.by {
		all = append(all, mine...)
	}
	slices.SortFunc(all, func(a, b *heldOffset) int { return cmp.Compare(a.order, b.order) })
	for _, one := range all {
		list = append(list, one.TxnOffsetRecord)
	}
	return list
}
