package sim

import (
	"errors"
	"math/rand/v2"
	"slices"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/protocol/batch"
)

// disk is one commit log: everything appended, in order, of which a prefix is synced. One sync is under way
// at a time and takes what was queued during the one before (group commit). A volume is a disk of one
// broker; the control quorum is a disk whose sync is that of a majority.
type disk struct {
	world   *world
	name    string
	random  *rand.Rand
	streams map[string]*diskStream
	order   []written // what is not synced yet, oldest first; the first inFlight of them are being written
	flying  int
	slow    int64 // ns: until then syncs take long
	lost    error
	wiped   bool // another disk stands in its place, and the controller has not taken note yet
	life    int  // of the process that has it open: syncs of an earlier one tell nobody
}

// written is one Append or Snapshot: durable as a whole or not at all.
type written struct {
	stream *diskStream
	items  int
	done   func(journal.Seq, error)
	at     journal.Seq
}

// diskStream is one stream: items up to synced survive a crash.
type diskStream struct {
	items   []item
	synced  int
	batches []batch.Batch // of all items, truncations applied: what readers find
	disk    []batch.Batch // of the synced items alone
	cuts    int           // truncations and trims that are not synced; without one, disk is where batches begins
	name    string
}

type item struct {
	entry    core.Entry
	snapshot []byte // not nil: an item without an entry
}

var errDisk = errors.New("input/output error")

func newDisk(w *world, name string) *disk {
	return &disk{world: w, name: name, random: stream(w.seed, "disk/%s", name), streams: map[string]*diskStream{}}
}

func (d *disk) stream(name string) *diskStream {
	s := d.streams[name]
	if s == nil {
		s = &diskStream{name: name}
		d.streams[name] = s
	}
	return s
}

func (d *disk) append(name string, entries []core.Entry, done func(journal.Seq, error)) journal.Seq {
	s := d.stream(name)
	if d.lost != nil {
		done(0, d.lost)
		return journal.Seq(len(s.items) + len(entries))
	}
	for _, e := range entries {
		s.items = append(s.items, item{entry: e})
		s.batches = index(s.batches, e)
		if cuts(e) {
			s.cuts++
		}
	}
	at := journal.Seq(len(s.items))
	d.write(written{s, len(entries), done, at})
	return at
}

func (d *disk) snapshot(name string, state []byte) {
	if d.lost != nil {
		return
	}
	s := d.stream(name)
	s.items = append(s.items, item{snapshot: append([]byte{}, state...)})
	d.write(written{s, 1, func(journal.Seq, error) {}, journal.Seq(len(s.items))})
}

func (d *disk) write(one written) {
	if d.lost != nil {
		one.done(0, d.lost)
		return
	}
	d.order = append(d.order, one)
	d.sync()
}

// sync begins a group, unless one is under way.
func (d *disk) sync() {
	if d.flying > 0 || len(d.order) == 0 || d.lost != nil {
		return
	}
	d.flying = len(d.order)
	life := d.life
	d.world.after(d.latency(), func() {
		if d.life == life && d.lost == nil {
			d.synced()
		}
	})
}

// latency of one sync has a heavy tail: one in a hundred takes a hundred times the median.
func (d *disk) latency() int64 {
	l := within(d.random, 200*us, 2*ms)
	switch d.random.IntN(200) {
	case 0:
		l = within(d.random, 20*ms, 400*ms)
	case 1, 2, 3:
		l = within(d.random, 2*ms, 30*ms)
	}
	if d.slow > d.world.now {
		l = l*20 + within(d.random, 50*ms, 2*sec)
	}
	return l
}

func (d *disk) synced() {
	group := d.order[:d.flying]
	d.order, d.flying = d.order[d.flying:], 0
	for _, one := range group {
		one.stream.advance(one.items)
	}
	d.sync()
	for _, one := range group {
		one.done(one.at, nil)
	}
}

func (s *diskStream) advance(n int) {
	for range n {
		switch it := &s.items[s.synced]; {
		case it.snapshot != nil:
		case s.cuts == 0 && it.entry.Op == core.IndexAdd:
			s.disk = s.batches[:len(s.disk)+1]
		default:
			s.disk = index(s.disk[:len(s.disk):len(s.disk)], it.entry)
			if cuts(it.entry) {
				s.cuts--
			}
		}
		s.synced++
	}
}

func cuts(e core.Entry) bool { return e.Op != core.IndexNone && e.Op != core.IndexAdd }

// index applies one entry to a list of batches. Lists that were handed out keep what they had.
func index(list []batch.Batch, e core.Entry) []batch.Batch {
	switch e.Op {
	case core.IndexAdd:
		b, _, err := batch.Parse(e.Payload)
		if err != nil {
			panic(err)
		}
		return append(list, b)
	case core.IndexReplace:
		b, _, err := batch.Parse(e.Payload)
		if err != nil {
			panic(err)
		}
		return slices.Concat(list[:find(list, e.Base)], []batch.Batch{b}, list[find(list, e.Last+1):])
	case core.IndexTruncate:
		n := len(list)
		for n > 0 && core.Offset(list[n-1].LastOffset()) >= e.Base {
			n--
		}
		return list[:n:n]
	case core.IndexTrim:
		n := 0
		for n < len(list) && core.Offset(list[n].LastOffset()) < e.Base {
			n++
		}
		return list[n:]
	default:
		return list
	}
}

// crash is the end of the process that had the disk open: of what was being written a prefix is there, in
// the order of the commit log over all streams; what was only queued is not.
func (d *disk) crash() {
	kept := 0
	if d.flying > 0 {
		kept = d.random.IntN(d.flying + 1)
	}
	for _, one := range d.order[:kept] {
		one.stream.advance(one.items)
	}
	for _, one := range d.order[kept:] {
		s := one.stream
		s.items = s.items[:s.synced:s.synced]
		s.batches, s.cuts = s.disk[:len(s.disk):len(s.disk)], 0
	}
	d.order, d.flying, d.lost = nil, 0, nil
	d.life++
}

// fail is a failed write or sync: the volume is lost to this process, and nothing on it is retried (D4).
func (d *disk) fail() {
	if d.lost != nil {
		return
	}
	order := d.order
	d.crash()
	d.lost = errDisk
	for _, one := range order {
		one.done(0, errDisk)
	}
}

// reopen makes a failed volume usable again, with what is on it.
func (d *disk) reopen() {
	d.lost = nil
	d.life++
}

// replay calls back with the newest snapshot and what follows it.
func (d *disk) replay(name string, snapshot func([]byte) error, entry func(journal.Seq, core.Entry) error) error {
	s := d.stream(name)
	from := 0
	for i := len(s.items) - 1; i >= 0; i-- {
		if s.items[i].snapshot != nil {
			from = i + 1
			if err := snapshot(s.items[i].snapshot); err != nil {
				return err
			}
			break
		}
	}
	for i := from; i < len(s.items); i++ {
		if err := entry(journal.Seq(i+1), s.items[i].entry); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets a stream. Its name may be used again at once; what is under way for it tells nobody.
func (d *disk) drop(name string, done func()) {
	s := d.streams[name]
	delete(d.streams, name)
	if s == nil {
		d.world.after(ms, done)
		return
	}
	d.write(written{s, 0, func(journal.Seq, error) { done() }, 0})
}

// names lists the streams with a prefix that hold something, sorted.
func (d *disk) names(prefix string) []string {
	var list []string
	for _, name := range sortedKeys(d.streams) {
		if s := d.streams[name]; len(s.items) > 0 && len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			list = append(list, name)
		}
	}
	return list
}

// read returns whole batches that end below below, from the one that holds from.
func (s *diskStream) read(from, below core.Offset, max int) []batch.Batch {
	first := find(s.batches, from)
	var list []batch.Batch
	size := 0
	for _, b := range s.batches[first:] {
		if core.Offset(b.LastOffset()) >= below || len(list) > 0 && size+len(b.Bytes) > max {
			break
		}
		list, size = append(list, b), size+len(b.Bytes)
	}
	return list
}

// find is the index of the first batch that ends at or above an offset.
func find(list []batch.Batch, from core.Offset) int {
	low, high := 0, len(list)
	for low < high {
		mid := (low + high) / 2
		if core.Offset(list[mid].LastOffset()) < from {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}
