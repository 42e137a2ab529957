package controller

// allocateProducerIDs hands out a block of ids that no other cluster and no earlier life of this one
// has handed out (D24, C13): deduplication at a mirror is by producer id alone.
func (s *State) allocateProducerIDs(c AllocateProducerIDs) outcome {
	count := c.Count
	if count <= 0 {
		count = defaultBlock
	}
	prefix, next := s.prefix, s.nextID
	if prefix == 0 {
		prefix = drawnPrefix(c.Prefix)
	}
	if skipUsedProducerIDs && c.Above>>32 == int64(prefix) {
		next = max(next, c.Above&counterMask+1)
	}
	if next+count > counterMask && prefix != drawnPrefix(c.Prefix) {
		prefix, next = drawnPrefix(c.Prefix), 0 // four thousand million ids later
	}
	ev := ProducerIDsAllocated{Prefix: prefix, Next: next + count}
	first := next
	if prefixProducerIDs {
		first |= int64(prefix) << 32
	}
	return reply(outcome{Events: []Event{ev}}, ProducerIDs{Ref: c.Ref, First: first, Count: count})
}

const (
	defaultBlock = 1000
	counterMask  = 1<<32 - 1
)

// drawnPrefix makes any draw a positive 31-bit number: ids are positive int64 and 0 means none yet.
func drawnPrefix(draw int32) int32 { return max(1, draw&0x7fffffff) }
