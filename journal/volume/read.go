package volume

import (
	"errors"
	"fmt"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/badger"
	"lockstep/journal/log"
)

// errStale says that what was read is not what the index said: the segment moved on meanwhile.
var errStale = errors.New("the segment was reused")

// ReadBatches implements journal.Volume.
func (v *Volume) ReadBatches(s journal.Stream, from core.Offset, max int) ([]journal.StoredBatch, error) {
	return v.lookTwice(func() ([]journal.StoredBatch, error) {
		var found []badger.Batch
		room := max
		err := v.behind.batches(s, from, func(b badger.Batch) bool {
			if room -= int(b.Pos.Length); room < 0 && len(found) > 0 {
				return false
			}
			found = append(found, b)
			return true
		})
		if err != nil {
			return nil, err
		}
		out := make([]journal.StoredBatch, 0, len(found))
		for _, b := range found {
			stored, err := v.fetch(s, b)
			if err != nil {
				return nil, err
			}
			out = append(out, stored)
		}
		return out, nil
	})
}

// FindTimestamp implements journal.Volume.
func (v *Volume) FindTimestamp(s journal.Stream, from core.Offset, ts int64) (journal.StoredBatch, bool, error) {
	found, err := v.lookTwice(func() ([]journal.StoredBatch, error) {
		var hit *badger.Batch
		if err := v.behind.batches(s, from, func(b badger.Batch) bool {
			if b.MaxTimestamp >= ts {
				hit = &b
			}
			return hit == nil
		}); err != nil || hit == nil {
			return nil, err
		}
		stored, err := v.fetch(s, *hit)
		return []journal.StoredBatch{stored}, err
	})
	if err != nil || len(found) == 0 {
		return journal.StoredBatch{}, false, err
	}
	return found[0], true, nil
}

// Extents implements journal.Volume.
func (v *Volume) Extents(s journal.Stream, from core.Offset, visit func(journal.Extent) bool) error {
	return v.behind.batches(s, from, func(b badger.Batch) bool {
		return visit(journal.Extent{Base: b.Base, Last: b.Last, MaxTimestamp: b.MaxTimestamp, Bytes: int64(b.Pos.Length)})
	})
}

// Sizes implements journal.Volume.
func (v *Volume) Sizes(streams []journal.Stream) ([]int64, error) {
	if err := v.behind.drain(); err != nil {
		return nil, err
	}
	sizes := make([]int64, len(streams))
	for i, s := range streams {
		sizes[i] = v.index.Size(s)
	}
	return sizes, nil
}

// lookTwice repeats a read once when cleaning moved what it was after (D14).
func (v *Volume) lookTwice(read func() ([]journal.StoredBatch, error)) ([]journal.StoredBatch, error) {
	out, err := read()
	var damage *log.Damage
	if errors.Is(err, log.ErrMoved) || errors.Is(err, errStale) || errors.As(err, &damage) {
		out, err = read()
	}
	if errors.Is(err, log.ErrMoved) || errors.Is(err, errStale) {
		err = v.distrust(err)
	}
	return out, err
}

func (v *Volume) fetch(s journal.Stream, b badger.Batch) (journal.StoredBatch, error) {
	r, err := v.log.Read(b.Pos)
	if err != nil {
		return journal.StoredBatch{}, fmt.Errorf("batch %d to %d of %s, entry %d in segment %d: %w", b.Base, b.Last, s, b.Seq, b.Pos.Segment, err)
	}
	if r.Stream != s || r.Entry.Base != b.Base || r.Entry.Last != b.Last || r.CRC != b.CRC {
		return journal.StoredBatch{}, fmt.Errorf("%w: segment %d offset %d holds %s base %d, expected %s base %d",
			errStale, b.Pos.Segment, b.Pos.Offset, r.Stream, r.Entry.Base, s, b.Base)
	}
	return journal.StoredBatch{
		Base: b.Base, Last: b.Last, Epoch: b.Epoch, MaxTimestamp: b.MaxTimestamp, Bytes: r.Entry.Payload,
	}, nil
}
