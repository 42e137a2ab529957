package fetcher

import (
	"errors"
	"fmt"
	"math"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// emptyAtOnce is how many empty batches one answer is filled in with, for two thousand million offsets each.
const emptyAtOnce = 64

// Verify reads the record batches of one answer and checks again what the source should have checked:
// the peer, or what stands between us, may be broken or hostile (attack-A26). next is our LEO, last the
// epoch of our newest record, adopted the source epoch the question was fenced with. In a log without any the first batch
// may begin below next: records may have been deleted up to its middle.
//
// What compaction left empty may reach around next: then only the rest of it is new. holes says that a source may leave it
// out altogether, as Kafka does; empty batches stand for it in our log. A log that was compacted for long may begin behind more
// offsets than fit into one answer: then the batch comes again with the next.
//
// A cut-off last batch is normal, as answers are limited by size; everything else that does not fit is an
// error, and nothing of the answer is used.
func Verify(records []byte, next core.Offset, last, adopted core.LeaderEpoch, holes bool) ([]batch.Batch, error) {
	var list []batch.Batch
	rest := records
	for len(rest) > 0 {
		b, tail, err := batch.Parse(rest)
		if err != nil {
			if errors.Is(err, batch.ErrShort) && len(list) > 0 {
				return list, nil
			}
			return nil, fmt.Errorf("batch at offset %d: %w", next, err)
		}
		if holes && core.Offset(b.BaseOffset) > next && core.LeaderEpoch(b.LeaderEpoch) >= last && core.LeaderEpoch(b.LeaderEpoch) <= adopted {
			if err := sound(b); err != nil {
				return nil, err
			}
			for n := 0; core.Offset(b.BaseOffset) > next; n++ {
				if n == emptyAtOnce {
					return list, nil
				}
				// Of the epoch that follows: ours end where the source's do, or before.
				missing := min(b.BaseOffset-int64(next), math.MaxInt32)
				list = append(list, batch.Nothing(int64(next), int64(next)+missing-1, b.LeaderEpoch))
				next += core.Offset(missing)
			}
		}
		whole := b
		if rest, ok := b.From(int64(next)); ok && core.Offset(b.BaseOffset) < next {
			b = rest
		}
		if err := fits(b, next, last, adopted); err != nil {
			return nil, err
		}
		if err := sound(whole); err != nil {
			return nil, err
		}
		list = append(list, b)
		next, last, rest = core.Offset(b.LastOffset())+1, core.LeaderEpoch(b.LeaderEpoch), tail
	}
	return list, nil
}

func fits(b batch.Batch, next core.Offset, last, adopted core.LeaderEpoch) error {
	if !verifyBatchesAgain {
		return nil
	}
	switch base, epoch := core.Offset(b.BaseOffset), core.LeaderEpoch(b.LeaderEpoch); {
	case base < 0 || base != next && (last != core.NoEpoch || base > next || core.Offset(b.LastOffset()) < next):
		return fmt.Errorf("batch begins at offset %d where our log ends at %d", base, next)
	case b.LastOffsetDelta < 0 || b.LastOffset() < b.BaseOffset:
		return fmt.Errorf("batch at offset %d states last offset delta %d", base, b.LastOffsetDelta)
	case epoch < last:
		return fmt.Errorf("batch at offset %d is of leader epoch %d, older than epoch %d before it", base, epoch, last)
	case epoch > adopted:
		// The answering leader is newer than the one we asked: it must be aligned with first.
		return fmt.Errorf("batch at offset %d is of leader epoch %d, newer than the adopted epoch %d", base, epoch, adopted)
	}
	return nil
}

func sound(b batch.Batch) error {
	if !verifyBatchesAgain {
		return nil
	}
	if err := batch.Validate(b); err != nil {
		return fmt.Errorf("batch at offset %d: %w", b.BaseOffset, err)
	}
	return nil
}

// Clamp bounds what an answer states about the source by what it has shown: a HW counts only as far as
// our log goes with this answer (it is stated again later), a log start only as far as the offset that
// was just served. Without it a lying peer could forbid every later truncation, or trim our log.
func Clamp(hw, start, next, end core.Offset) (core.Offset, core.Offset) {
	if hw < 0 {
		hw = core.Unknown
	}
	if start < 0 {
		start = core.Unknown
	}
	if !clampStatedOffsets {
		return hw, start
	}
	return min(hw, end), min(start, next)
}
