package badger

import (
	bdg "github.com/dgraph-io/badger/v4"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/log"
)

// Batches calls visit for the indexed batches of s that end at or above from, in order, until it
// returns false.
func (x *Index) Batches(s journal.Stream, from core.Offset, visit func(Batch) bool) error {
	return x.db.View(func(txn *bdg.Txn) error {
		pre := prefix('l', s)
		it := txn.NewIterator(bdg.IteratorOptions{PrefetchValues: false, Prefix: pre})
		defer it.Close()
		for it.Seek(offsetKey(s, from)); it.Valid(); it.Next() {
			var b Batch
			err := it.Item().Value(func(v []byte) (err error) {
				b, err = decodeBatch(be.Uint64(it.Item().Key()[len(pre):]), v)
				return err
			})
			if err != nil {
				return err
			}
			if !visit(b) {
				return nil
			}
		}
		return nil
	})
}

// History returns where the newest snapshot of s lies, if there is one, and the positions of the
// entries behind it from sequence from on, at most most of them.
func (x *Index) History(s journal.Stream, from journal.Seq, most int) (snapshot *log.Position, covers journal.Seq, entries []log.Position, err error) {
	x.mu.RLock()
	st := x.streams[s]
	x.mu.RUnlock()
	if st == nil {
		return nil, 0, nil, nil
	}
	if st.hasSnap {
		snapshot = &st.snapPos
	}
	from = max(from, st.snap+1, st.drop+1)
	err = x.db.View(func(txn *bdg.Txn) error {
		it := txn.NewIterator(bdg.IteratorOptions{PrefetchValues: true, PrefetchSize: 100, Prefix: prefix('e', s)})
		defer it.Close()
		for it.Seek(key('e', s, uint64(from))); it.Valid() && len(entries) < most; it.Next() {
			if err := it.Item().Value(func(v []byte) error {
				e, err := decodeEvent(v)
				entries = append(entries, e.pos)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return snapshot, st.snap, entries, err
}

// Live reports whether r, read from its segment, is still needed when that segment goes: by a replay,
// by the index, or, if older segments stay, because it says that something in them is dead. It marks a
// batch that is history only.
func (x *Index) Live(r *log.Record, oldest bool) (bool, error) {
	x.mu.RLock()
	st := state{}
	if known := x.streams[r.Stream]; known != nil {
		st = *known
	}
	x.mu.RUnlock()
	switch r.Type {
	case log.RecordSegments:
		return false, nil
	case log.RecordSnapshot:
		return st.hasSnap && st.snapPos == r.Pos, nil
	case log.RecordDrop:
		return !oldest, nil
	}
	live := (r.Entry.Op == core.IndexTruncate || r.Entry.Op == core.IndexTrim) && !oldest
	err := x.db.View(func(txn *bdg.Txn) error {
		c := change{txn: txn}
		v, err := c.get(key('e', r.Stream, uint64(r.Seq)))
		if err != nil {
			return err
		}
		if v != nil {
			e, err := decodeEvent(v)
			if err != nil {
				return err
			}
			live = live || e.pos == r.Pos
		}
		if r.Entry.Op != core.IndexAdd {
			return nil
		}
		r.Unindexed = true
		if v, err = c.get(offsetKey(r.Stream, r.Entry.Last)); err != nil || v == nil {
			return err
		}
		b, err := decodeBatch(uint64(r.Entry.Last), v)
		if b.Pos == r.Pos {
			live, r.Unindexed = true, false
		}
		return err
	})
	return live, err
}

// Forget drops the usage of a segment that was recycled.
func (x *Index) Forget(n uint64) error {
	x.mu.Lock()
	delete(x.segments, n)
	x.mu.Unlock()
	return x.db.Update(func(txn *bdg.Txn) error { return txn.Delete(usageKey(n)) })
}
