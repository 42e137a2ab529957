package badger

import (
	"errors"
	"fmt"

	bdg "github.com/dgraph-io/badger/v4"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/log"
)

// change is one group on its way into the index. Sequence numbers of the stream, not the order of the
// log, decide what is dead: a batch falls to a truncation with a higher sequence, an entry to a
// snapshot or drop with one at least as high. That is what makes copies and rebuilds safe.
type change struct {
	x       *Index
	txn     *bdg.Txn
	streams map[journal.Stream]*state // touched, private until the commit
	usage   map[uint64]*Usage
	// careful looks before it counts: a rerun of the log may meet what is already there.
	careful bool
}

// Apply makes a group part of the index, in one transaction unless it is very large.
func (x *Index) Apply(g log.Group) error { return x.apply(g, false) }

// Reapply is Apply for groups read back from the log, some of which may already be in part.
func (x *Index) Reapply(g log.Group) error { return x.apply(g, true) }

func (x *Index) apply(g log.Group, careful bool) error {
	x.room.keep()
	c := &change{
		x: x, txn: x.db.NewTransaction(true), careful: careful,
		streams: map[journal.Stream]*state{}, usage: map[uint64]*Usage{},
	}
	defer func() { c.txn.Discard() }()
	for _, r := range g.Records {
		if err := c.record(r); err != nil {
			return fmt.Errorf("index of frame %d: %w", r.Index, err)
		}
	}
	for name, st := range c.streams {
		if err := c.set(stateKey(name), st.encode()); err != nil {
			return err
		}
	}
	for n, u := range c.usage {
		b := be.AppendUint64(nil, uint64(u.Live))
		if err := c.set(usageKey(n), be.AppendUint32(b, uint32(u.Guards))); err != nil {
			return err
		}
	}
	covered := append(be.AppendUint64(nil, g.Last), g.Hash[:]...)
	if err := c.set([]byte("c"), covered); err != nil {
		return err
	}
	if err := c.txn.Commit(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, st := range c.streams {
		x.streams[name] = st
	}
	for n, u := range c.usage {
		x.segments[n] = u
	}
	x.covered, x.hash = g.Last, g.Hash
	return nil
}

// set and del go on in a further transaction when one is full: what was committed is then found
// again by the careful rerun, because the covered index comes last.
func (c *change) set(k, v []byte) error {
	return c.retry(func() error { return c.txn.Set(k, v) })
}

func (c *change) del(k []byte) error {
	return c.retry(func() error { return c.txn.Delete(k) })
}

func (c *change) retry(f func() error) error {
	err := f()
	if !errors.Is(err, bdg.ErrTxnTooBig) {
		return err
	}
	if err := c.txn.Commit(); err != nil {
		return err
	}
	c.txn = c.x.db.NewTransaction(true)
	return f()
}

func (c *change) state(s journal.Stream) *state {
	if st := c.streams[s]; st != nil {
		return st
	}
	st := &state{}
	c.x.mu.RLock()
	if old := c.x.streams[s]; old != nil {
		*st = *old
	}
	c.x.mu.RUnlock()
	c.streams[s] = st
	return st
}

func (c *change) segment(n uint64) *Usage {
	if u := c.usage[n]; u != nil {
		return u
	}
	u := c.x.Usage(n)
	c.usage[n] = &u
	return &u
}

func (c *change) live(p log.Position)  { c.segment(p.Segment).Live += int64(p.Length) }
func (c *change) dead(p log.Position)  { c.segment(p.Segment).Live -= int64(p.Length) }
func (c *change) guard(p log.Position) { c.segment(p.Segment).Guards++ }

func (c *change) record(r *log.Record) error {
	switch r.Type {
	case log.RecordEntry:
		return c.entry(r)
	case log.RecordSnapshot:
		return c.snapshot(r)
	case log.RecordDrop:
		return c.drop(r)
	case log.RecordSegments:
		return nil
	default:
		panic(fmt.Sprintf("badger: unknown record type %d", r.Type))
	}
}

func (c *change) entry(r *log.Record) error {
	st := c.state(r.Stream)
	if r.Seq <= st.drop {
		return nil
	}
	st.last = max(st.last, r.Seq)
	look := c.careful || r.Copy || r.Entry.Op == core.IndexReplace
	add := r.Entry.Op.Holds() && !r.Unindexed
	var oldEvent, oldBatch *log.Position
	if look {
		var other *Batch
		var err error
		if oldEvent, oldBatch, other, err = c.find(r); err != nil {
			return err
		}
		// In a rebuild the copy of a truncation may come behind the batch that took a truncated one's place.
		if add && other != nil && other.Seq < r.Seq && other.Seq <= st.snap {
			c.dead(other.Pos)
		}
		if r.Unindexed && oldBatch != nil { // truncated or trimmed by something that comes later in the log now
			if err := c.del(offsetKey(r.Stream, r.Entry.Last)); err != nil {
				return err
			}
			st.bytes -= int64(oldBatch.Length)
		}
		if add { // the place is taken over, not taken twice
			switch {
			case oldBatch != nil:
				st.bytes -= int64(oldBatch.Length)
			case other != nil:
				st.bytes -= int64(other.Pos.Length)
			}
		}
	}
	inEvents := r.Seq > st.snap || r.Stream.IsLedger()
	if inEvents {
		ev := event{pos: r.Pos, batch: r.Entry.Op.Holds(), last: r.Entry.Last}
		if err := c.set(key('e', r.Stream, uint64(r.Seq)), ev.encode()); err != nil {
			return err
		}
	}
	if add {
		b := Batch{
			Base: r.Entry.Base, Seq: r.Seq, Pos: r.Pos, CRC: r.CRC, Epoch: r.Entry.Epoch, MaxTimestamp: r.Entry.MaxTimestamp,
		}
		if err := c.set(offsetKey(r.Stream, r.Entry.Last), b.encode()); err != nil {
			return err
		}
		st.bytes += int64(r.Pos.Length)
	}
	// One frame counts once, however many keys refer to it; what it replaces stops counting.
	old := oldEvent
	if old == nil {
		old = oldBatch
	}
	if old != nil {
		c.dead(*old)
	}
	if inEvents || add {
		c.live(r.Pos)
	}
	switch r.Entry.Op {
	case core.IndexNone, core.IndexAdd:
		return nil
	case core.IndexReplace:
		if !add {
			return nil
		}
		// It needs no guard: whatever takes it out of the index takes out all that it had replaced.
		return c.unindex(r.Stream, st, r.Seq, offsetKey(r.Stream, r.Entry.Base), offsetKey(r.Stream, r.Entry.Last))
	case core.IndexTruncate:
		c.guard(r.Pos)
		return c.unindex(r.Stream, st, r.Seq, offsetKey(r.Stream, r.Entry.Base), nil)
	case core.IndexTrim:
		c.guard(r.Pos)
		return c.unindex(r.Stream, st, r.Seq, nil, offsetKey(r.Stream, r.Entry.Base))
	default:
		return fmt.Errorf("unknown index op %d", r.Entry.Op)
	}
}

// find returns where the keys of r's entry point to already, and which other batch has its place.
func (c *change) find(r *log.Record) (ev, batch *log.Position, other *Batch, err error) {
	b, err := c.get(key('e', r.Stream, uint64(r.Seq)))
	if err != nil {
		return nil, nil, nil, err
	}
	if b != nil {
		e, err := decodeEvent(b)
		if err != nil {
			return nil, nil, nil, err
		}
		ev = &e.pos
	}
	if !r.Entry.Op.Holds() {
		return ev, nil, nil, nil
	}
	if b, err = c.get(offsetKey(r.Stream, r.Entry.Last)); err != nil || b == nil {
		return ev, nil, nil, err
	}
	v, err := decodeBatch(uint64(r.Entry.Last), b)
	if err != nil {
		return nil, nil, nil, err
	}
	if v.Seq == r.Seq {
		return ev, &v.Pos, nil, nil
	}
	return ev, nil, &v, nil
}

func (c *change) get(k []byte) ([]byte, error) {
	item, err := c.txn.Get(k)
	if errors.Is(err, bdg.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return item.ValueCopy(nil)
}

// pair is a key with its value, copied out of an iterator.
type pair struct{ k, v []byte }

// collect copies the pairs of a prefix between from (inclusive) and to (exclusive); nil is open.
func (c *change) collect(pre, from, to []byte) ([]pair, error) {
	it := c.txn.NewIterator(bdg.IteratorOptions{PrefetchValues: true, PrefetchSize: 100, Prefix: pre})
	defer it.Close()
	if from == nil {
		from = pre
	}
	var out []pair
	for it.Seek(from); it.Valid(); it.Next() {
		k := it.Item().KeyCopy(nil)
		if to != nil && string(k) >= string(to) {
			break
		}
		v, err := it.Item().ValueCopy(nil)
		if err != nil {
			return nil, err
		}
		out = append(out, pair{k, v})
	}
	return out, nil
}

// unindex removes the batches of [from, to) that are older than seq. Those a snapshot covers are dead
// with it; the others stay as history until one does.
func (c *change) unindex(s journal.Stream, st *state, seq journal.Seq, from, to []byte) error {
	pairs, err := c.collect(prefix('l', s), from, to)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		b, err := decodeBatch(0, p.v)
		if err != nil {
			return err
		}
		if b.Seq >= seq {
			continue
		}
		if err := c.del(p.k); err != nil {
			return err
		}
		st.bytes -= int64(b.Pos.Length)
		if b.Seq <= st.snap || b.Seq <= st.drop {
			c.dead(b.Pos)
		}
	}
	return nil
}

func (c *change) snapshot(r *log.Record) error {
	st := c.state(r.Stream)
	if r.Seq < st.drop || (st.hasSnap && r.Seq < st.snap) {
		return nil
	}
	st.last = max(st.last, r.Seq)
	if st.hasSnap {
		c.dead(st.snapPos)
	}
	before := st.snap
	st.snap, st.snapPos, st.hasSnap = r.Seq, r.Pos, true
	c.live(r.Pos)
	if r.Stream.IsLedger() {
		return nil
	}
	return c.forgetEvents(r.Stream, before+1, r.Seq)
}

// forgetEvents removes the entries from first to last from the replay. A batch that is still indexed
// lives on. The caller knows where to begin, because walking over keys deleted before is slow.
func (c *change) forgetEvents(s journal.Stream, first, last journal.Seq) error {
	pairs, err := c.collect(prefix('e', s), key('e', s, uint64(first)), key('e', s, uint64(last)+1))
	if err != nil {
		return err
	}
	for _, p := range pairs {
		e, err := decodeEvent(p.v)
		if err != nil {
			return err
		}
		if err := c.del(p.k); err != nil {
			return err
		}
		if e.batch {
			v, err := c.get(offsetKey(s, e.last))
			if err != nil {
				return err
			}
			if v != nil {
				if b, err := decodeBatch(uint64(e.last), v); err != nil || b.Pos == e.pos {
					if err != nil {
						return err
					}
					continue
				}
			}
		}
		c.dead(e.pos)
	}
	return nil
}

func (c *change) drop(r *log.Record) error {
	st := c.state(r.Stream)
	c.guard(r.Pos)
	if r.Seq <= st.drop {
		return nil
	}
	st.last = max(st.last, r.Seq)
	if st.hasSnap && st.snap < r.Seq {
		c.dead(st.snapPos)
		st.hasSnap, st.snapPos = false, log.Position{}
	}
	if err := c.forgetEvents(r.Stream, 1, r.Seq); err != nil {
		return err
	}
	st.drop = r.Seq
	st.snap = max(st.snap, r.Seq)
	return c.unindex(r.Stream, st, r.Seq, nil, nil)
}
