package log

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"lockstep/journal/vfs"
)

// groupFrames bounds the frames of one group, so that its index update fits into one transaction.
const groupFrames = 8 << 10

// gatherMin is the payload size from which the group buffer refers to it instead of copying it.
const gatherMin = 2 << 10

// writer is what only the writer's goroutine touches.
type writer struct {
	log    *Log
	active *segment
	off    int64  // where the next group goes
	next   uint64 // index of the next frame
	hash   Hash   // the chain behind next-1
	pin    vfs.File
	pinned uint64 // counter of the newest pin
	live   []uint64

	buf     []byte // group buffer, reused: headers, small payloads, CRCs, padding
	gather  [][]byte
	records []*Record
	marks   []Mark
}

func (w *writer) run() {
	defer w.log.ended.Done()
	var group []*Item
	for {
		items, ok := w.log.take(group[:0])
		if !ok {
			return
		}
		group = items
		err := w.log.Err()
		if err == nil {
			if err = w.commit(items); err != nil {
				err = w.log.fail(err)
			}
		}
		for i, it := range items {
			it.answer(err)
			items[i] = nil
		}
	}
}

// take waits for work and removes one group from the queue. No timer: the group is what queued while
// the writer was away.
func (l *Log) take(to []*Item) ([]*Item, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closing {
		l.work.Wait()
	}
	if len(l.queue) == 0 || l.abandon {
		return to, false
	}
	n, bytes, frames := 0, 0, 0
	for n < len(l.queue) {
		it := l.queue[n]
		if n > 0 && it.copies() {
			break // Live is asked when everything before the copy has reached Sink
		}
		for i := range it.Records {
			bytes += frameSize(&it.Records[i])
		}
		frames += len(it.Records)
		if n > 0 && (bytes > l.o.GroupBytes || frames > groupFrames) {
			break
		}
		n++
	}
	to = append(to, l.queue[:n]...)
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	return to, true
}

func (it *Item) copies() bool { return len(it.Records) > 0 && it.Records[0].Copy }

// commit makes one group durable and known.
func (w *writer) commit(items []*Item) error {
	w.records = w.records[:0]
	list := false
	for _, it := range items {
		if it.retire > 0 {
			w.live = slices.DeleteFunc(slices.Clone(w.live), func(n uint64) bool { return n == it.retire })
			list = true
		}
		for i := range it.Records {
			if r := &it.Records[i]; !r.Copy || w.log.o.Live(r) {
				w.records = append(w.records, r)
			}
		}
	}
	if len(w.records) == 0 && !list {
		return nil
	}
	// The first group of a segment says which segments are retained. A crash between the header of a segment
	// and its first group leaves one that was begun without a list: whoever goes on in it writes the list.
	if list = list || (w.off == Sector && w.active.header.Number > 1); list {
		w.records = slices.Insert(w.records, 0, w.segmentList())
	}
	w.marks = w.log.o.Witness.siblings(w.marks[:0], w.log.o.Broker)
	length := w.length()
	if w.off+int64(length) > w.active.size {
		if err := w.switchSegment(length + padded(frameHeader+frameCRC+8*(len(w.live)+1))); err != nil {
			return err
		}
		if list {
			w.records = w.records[1:] // it does not name the new segment
		}
		w.records = slices.Insert(w.records, 0, w.segmentList())
		length = w.length()
	}
	hash := w.encode(length)
	if err := w.active.file.WriteAt(w.gather, w.off); err != nil {
		return err
	}
	clear(w.gather)
	if w.log.o.Durability == Fsync {
		if err := w.active.file.Sync(); err != nil {
			return err
		}
	}
	g := Group{First: w.next, Last: w.next + uint64(len(w.records)) - 1, Hash: hash, Records: w.records}
	w.off += int64(length)
	w.next, w.hash = g.Last+1, hash
	w.log.groups.Add(1)
	w.log.bytes.Add(uint64(length))
	if w.log.o.Durability == Fsync {
		w.log.o.Witness.Publish(w.mark())
	}
	err := w.log.o.Sink(g)
	clear(w.records)
	return err
}

func (w *writer) mark() Mark {
	return Mark{Volume: w.log.meta.Volume, Broker: w.log.meta.Broker, Index: w.next - 1, Hash: w.hash}
}

func (w *writer) segmentList() *Record {
	r := &Record{Type: RecordSegments}
	for _, n := range w.live {
		r.Entry.Payload = binary.LittleEndian.AppendUint64(r.Entry.Payload, n)
	}
	return r
}

func (w *writer) length() int {
	n := groupHeaderSize(len(w.marks))
	for _, r := range w.records {
		n += frameSize(r)
	}
	return padded(n)
}

// encode renders the group into the gather list and returns the chain behind it. Large payloads are
// referred to, everything else is copied into the reused buffer; each byte is touched once by the
// CRC, and once per process by SHA-256.
func (w *writer) encode(length int) Hash {
	need := groupHeaderSize(len(w.marks)) + Sector
	for _, r := range w.records {
		need += frameSize(r)
		if len(r.Entry.Payload) >= gatherMin {
			need -= len(r.Entry.Payload)
		}
	}
	if cap(w.buf) < need {
		w.buf = make([]byte, 0, max(need, 2*cap(w.buf)))
	}
	g := GroupHeader{
		Segment: w.active.header.Number, Offset: w.off, Volume: w.log.meta.Volume, First: w.next,
		Frames: uint32(len(w.records)), Length: uint32(length), Prev: w.hash, Marks: w.marks,
	}
	b := appendGroupHeader(w.buf[:0], &g)
	hash := link(w.hash, b[:len(b)-frameCRC], Hash{})
	w.gather = w.gather[:0]
	chunk, off := 0, len(b)
	for i, r := range w.records {
		r.Index = w.next + uint64(i)
		size := frameSize(r)
		r.Pos = Position{w.active.header.Number, w.off + int64(off), int32(size)}
		start := len(b)
		b = appendFrameHeader(b, r)
		payload := r.Entry.Payload
		hash = link(hash, b[start:], digests.of(payload))
		crc := crc32.Checksum(b[start:], castagnoli)
		crc = crc32.Update(crc, castagnoli, payload)
		if len(payload) >= gatherMin {
			w.gather = append(w.gather, b[chunk:len(b):len(b)], payload)
			chunk = len(b)
		} else {
			b = append(b, payload...)
		}
		r.CRC = crc
		b = binary.LittleEndian.AppendUint32(b, crc)
		off += size
	}
	b = append(b, zeros[:length-off]...)
	w.gather = append(w.gather, b[chunk:])
	w.buf = b
	return hash
}

var zeros [1 << 20]byte
