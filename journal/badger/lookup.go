package badger

import (
	"fmt"
	"slices"

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
// entries behind it from sequence from on, at most most of them. It must not run beside an Apply that does more than add:
// entries that a snapshot has just covered would be missing behind the one before it.
func (x *Index) History(s journal.Stream, from journal.Seq, most int) (snapshot *log.Position, covers journal.Seq, entries []log.Position, err error) {
	x.mu.RLock()
	known := x.streams[s]
	x.mu.RUnlock()
	if known == nil {
		return nil, 0, nil, nil
	}
	st := *known
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
		return !oldest && r.Seq >= st.drop, nil
	case log.RecordEntry:
	default:
		panic(fmt.Sprintf("badger: unknown record type %d", r.Type))
	}
	// What a drop killed needs no other guard. A copy of one would stand behind the drop in the log, and a
	// rebuild would take it for an entry of a new life once the drop itself is not needed any more.
	live := (r.Entry.Op == core.IndexTruncate || r.Entry.Op == core.IndexTrim) && !oldest && r.Seq > st.drop
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
		if !r.Entry.Op.Holds() {
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

// Reference is a key of the index that needs a segment.
type Reference struct {
	Stream  journal.Stream
	Seq     journal.Seq
	Segment uint64

	key []byte
}

// Missing returns the segments that should hold something live and are not among those given.
func (x *Index) Missing(retained []uint64) (missing []uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for n, u := range x.segments {
		if u.Live > 0 && !slices.Contains(retained, n) {
			missing = append(missing, n)
		}
	}
	slices.Sort(missing)
	return missing
}

// Dangling returns what points into segments that are not among those given, at most most of it. It walks
// over the whole index.
func (x *Index) Dangling(retained []uint64, most int) (found []Reference, err error) {
	err = x.each(func(r Reference, pos log.Position) bool {
		if !slices.Contains(retained, pos.Segment) {
			r.key = slices.Clone(r.key)
			found = append(found, r)
		}
		return len(found) < most
	})
	return found, err
}

// Holds reports whether this index knows what r, of another one, stood for.
func (x *Index) Holds(r Reference) (held bool, err error) {
	x.mu.RLock()
	st := state{}
	if known := x.streams[r.Stream]; known != nil {
		st = *known
	}
	x.mu.RUnlock()
	if r.Seq <= st.drop {
		return true, nil
	}
	switch r.key[0] {
	case 's':
		return st.hasSnap && st.snap >= r.Seq, nil
	case 'e':
		if r.Seq <= st.snap && !r.Stream.IsLedger() {
			return true, nil
		}
	}
	err = x.db.View(func(txn *bdg.Txn) error {
		v, err := (&change{txn: txn}).get(r.key)
		held = v != nil
		return err
	})
	return held, err
}

// each visits every position the index holds, until visit returns false. The key of the reference is valid
// during the visit.
func (x *Index) each(visit func(Reference, log.Position) bool) error {
	return x.db.View(func(txn *bdg.Txn) error {
		it := txn.NewIterator(bdg.IteratorOptions{PrefetchValues: true, PrefetchSize: 100})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			k := it.Item().Key()
			more := true
			err := it.Item().Value(func(v []byte) error {
				r, pos, err := parseReference(k, v)
				if err == nil && r.key != nil {
					more = visit(r, pos)
				}
				return err
			})
			if err != nil || !more {
				return err
			}
		}
		return nil
	})
}

// parseReference reads any key; those that hold no position come back without key.
func parseReference(k, v []byte) (r Reference, pos log.Position, err error) {
	if len(k) < 2 {
		return r, pos, nil
	}
	stream := journal.Stream(k[2:])
	if k[0] == 'e' || k[0] == 'l' {
		stream = journal.Stream(k[2 : len(k)-9])
	}
	n := func() uint64 { return be.Uint64(k[len(k)-8:]) }
	switch k[0] {
	case 's':
		st, err := decodeState(v)
		if err != nil || !st.hasSnap {
			return r, pos, err
		}
		return Reference{stream, st.snap, st.snapPos.Segment, k}, st.snapPos, nil
	case 'e':
		e, err := decodeEvent(v)
		return Reference{stream, journal.Seq(n()), e.pos.Segment, k}, e.pos, err
	case 'l':
		b, err := decodeBatch(n(), v)
		return Reference{stream, b.Seq, b.Pos.Segment, k}, b.Pos, err
	default:
		return r, pos, nil
	}
}

// Resize is the bytes of the indexed batches of every stream, counted from scratch: what Size must say.
func (x *Index) Resize() (map[journal.Stream]int64, error) {
	sizes := map[journal.Stream]int64{}
	err := x.each(func(r Reference, pos log.Position) bool {
		if r.key[0] == 'l' {
			sizes[r.Stream] += int64(pos.Length)
		}
		return true
	})
	return sizes, err
}

// Recount is the live bytes of every segment, counted from scratch: what Usage must say.
func (x *Index) Recount() (map[uint64]int64, error) {
	live, seen := map[uint64]int64{}, map[log.Position]bool{}
	err := x.each(func(_ Reference, pos log.Position) bool {
		if !seen[pos] {
			seen[pos] = true
			live[pos.Segment] += int64(pos.Length)
		}
		return true
	})
	return live, err
}
