package log

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Report is what Open found.
type Report struct {
	Formatted bool    // the directory was empty
	Clean     bool    // the last process closed the volume
	Cut       *Damage // a torn, never acknowledged group was cut here
	PinSlot   error   // one slot of the pin was damaged and has been rewritten
	Last      uint64  // index of the newest frame
	Hash      Hash
	// Siblings is what this volume's newest group knew to be durable on the others.
	Siblings []Mark
	// recent holds the chain behind the groups of the newest segments, for the witness check.
	recent map[uint64]Hash
}

// Open takes a volume, verifies it from its pin on, cuts a torn tail that was never acknowledged, and
// starts the writer. Damage to acknowledged data refuses to open.
func Open(o Options) (*Log, Report, error) {
	o.defaults()
	l := &Log{o: o, dir: o.Dir, segments: map[uint64]*segment{}}
	l.work = sync.NewCond(&l.mu)
	l.w.log = l
	l.hasher.wake = sync.NewCond(&l.hasher.mu)
	unlock, err := o.Dir.Lock()
	if err != nil {
		return nil, Report{}, err
	}
	l.unlock = unlock
	report, err := l.open()
	if err != nil {
		return nil, report, errors.Join(err, l.release())
	}
	l.spares.start(l.w.active.header.Number + 1)
	l.ended.Add(2)
	go l.w.run()
	go func() {
		defer l.ended.Done()
		l.hasher.run()
	}()
	return l, report, nil
}

func (l *Log) open() (Report, error) {
	var report Report
	names, err := l.dir.List()
	if err != nil {
		return report, err
	}
	l.meta, err = ReadMeta(l.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if len(segmentNumbers(names)) > 0 {
			return report, fmt.Errorf("%s has segments but no %s file: restore it or refill this volume from its peers", l.dir, metaName)
		}
		if err := l.format(); err != nil {
			return report, err
		}
		report.Formatted = true
		if names, err = l.dir.List(); err != nil {
			return report, err
		}
	case err != nil:
		return report, err
	}
	if err := l.meta.check(l.dir, l.o.Cluster, l.o.Broker); err != nil {
		return report, err
	}
	l.spares = spares{dir: l.dir, volume: l.meta.Volume, size: l.o.SegmentBytes, ahead: l.o.Spares, foreground: l.o.Foreground}
	for _, name := range names {
		if strings.HasSuffix(name, spareSuffix) {
			if err := l.dir.Remove(name); err != nil {
				return report, err
			}
		}
	}
	if err := l.recover(segmentNumbers(names), &report); err != nil {
		return report, err
	}
	return report, l.space.open(l)
}

// format makes the first segment and the pin before meta: a directory without meta holds nothing.
func (l *Log) format() error {
	l.meta = Meta{Cluster: l.o.Cluster, Broker: l.o.Broker}
	if _, err := rand.Read(l.meta.Volume[:]); err != nil {
		return err
	}
	if err := l.dir.Remove(pinName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := createPin(l.dir, Pin{Volume: l.meta.Volume})
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), writeMeta(l.dir, l.meta))
}

// segmentNumbers picks the segments out of a listing, ascending.
func segmentNumbers(names []string) (numbers []uint64) {
	for _, name := range names {
		if base, ok := strings.CutSuffix(name, ".seg"); ok {
			if n, err := strconv.ParseUint(base, 16, 64); err == nil && segmentName(n) == name {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	return numbers
}

// recover finds the tail and checks it against the pin and the list of segments.
func (l *Log) recover(numbers []uint64, report *Report) error {
	pin, damaged, exists, err := ReadPin(l.dir)
	if err != nil || !exists {
		return fmt.Errorf("%s: the pin is missing or damaged (%w): refill this volume from its peers, or run clusterctl journal verify on it", l.dir, err)
	}
	if pin.Volume != l.meta.Volume {
		return fmt.Errorf("%s/%s belongs to volume %s, this is %s: restore the file or refill this volume", l.dir, pinName, pin.Volume, l.meta.Volume)
	}
	report.Clean = pin.Clean
	if len(damaged) > 0 {
		report.PinSlot = damaged[0]
	}
	if numbers, err = l.unbegun(numbers); err != nil {
		return err
	}
	if len(numbers) == 0 {
		if pin.Index > 0 {
			return fmt.Errorf("%s holds no segment, but its pin swears to index %d: refill this volume from its peers", l.dir, pin.Index)
		}
		if err := l.firstSegment(); err != nil {
			return err
		}
		numbers = []uint64{1}
	}
	for _, n := range numbers {
		if err := l.attach(n); err != nil {
			return err
		}
	}
	end, list, err := l.scanTail(numbers, pin, report)
	if err != nil {
		return err
	}
	if err := l.checkPin(pin, end, report); err != nil {
		return err
	}
	if err := l.cut(end, report); err != nil {
		return err
	}
	if err := l.matchList(numbers, list); err != nil {
		return err
	}
	report.Last, report.Hash = end.Next-1, end.Hash
	if end.Groups > 0 || end.Last.Length > 0 {
		report.Siblings = end.Last.Marks
	}
	if l.w.pin, err = l.dir.Open(pinName); err != nil {
		return err
	}
	l.w.pinned = pin.Counter
	if len(damaged) > 0 || pin.Clean {
		// A clean pin must not outlive the first write after it.
		return l.w.pinTail(false)
	}
	return nil
}

// firstSegment begins segment 1 of a fresh volume.
func (l *Log) firstSegment() error {
	s, err := l.begin(SegmentHeader{Volume: l.meta.Volume, Number: 1, First: 1}, l.o.SegmentBytes)
	if err != nil {
		return err
	}
	l.segMu.Lock()
	defer l.segMu.Unlock()
	delete(l.segments, 1)
	return s.file.Close()
}

// unbegun takes a newest segment that holds nothing off the list: prepared, or with a header that a
// crash tore while it was written. What was begun is told by its groups.
func (l *Log) unbegun(numbers []uint64) ([]uint64, error) {
	if len(numbers) == 0 {
		return numbers, nil
	}
	n := numbers[len(numbers)-1]
	f, err := l.dir.Open(segmentName(n))
	if err != nil {
		return nil, err
	}
	_, bad := ReadSegmentHeader(l.dir, n, f)
	if bad == nil {
		return numbers, f.Close()
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	sc := Scanner{Dir: l.dir, Volume: l.meta.Volume}
	group, err := sc.laterGroup(f, n, Sector, size)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if group > 0 {
		return numbers, f.Close() // attach will say what is wrong
	}
	if errors.Is(bad, ErrPrepared) && size == l.o.SegmentBytes {
		l.spares.ready = append(l.spares.ready, spare{segmentName(n), f, size})
		return numbers[:len(numbers)-1], nil
	}
	return numbers[:len(numbers)-1], errors.Join(f.Close(), l.dir.Remove(segmentName(n)))
}

// attach opens segment n. What is wrong with its header is kept for whoever needs the segment: a file that
// is on its way to become a spare may still have its old name and already the mark of its next life.
func (l *Log) attach(n uint64) error {
	f, err := l.dir.Open(segmentName(n))
	if err != nil {
		return err
	}
	s := &segment{file: f}
	l.segments[n] = s
	if s.size, err = f.Size(); err != nil {
		return err
	}
	s.header, s.bad = ReadSegmentHeader(l.dir, n, f)
	switch {
	case errors.Is(s.bad, ErrPrepared):
		s.bad = refused(&Damage{l.dir.String(), n, 0, "it was never begun, but it has groups or later segments exist"})
	case s.bad == nil && s.header.Volume != l.meta.Volume:
		s.bad = refused(&Damage{l.dir.String(), n, 0, fmt.Sprintf("segment of volume %s, this is %s", s.header.Volume, l.meta.Volume)})
	}
	return nil
}

// scanTail reads the newest segment, and those before it until one has the list of retained segments: the
// newest has none while a crash kept it from its first group.
func (l *Log) scanTail(numbers []uint64, pin Pin, report *Report) (SegmentEnd, retained, error) {
	newest := numbers[len(numbers)-1]
	var list retained
	report.recent = map[uint64]Hash{}
	scan := func(n uint64) (SegmentEnd, error) {
		sc := Scanner{Dir: l.dir, Volume: l.meta.Volume, HashAt: map[uint64]Hash{pin.Index: {}}}
		s := l.segments[n]
		if s.bad != nil {
			return SegmentEnd{}, s.bad
		}
		if s.header.First > 0 {
			report.recent[s.header.First-1] = s.header.Prev
		}
		end, err := sc.Scan(s.file, s.header, func(g *GroupHeader, records []Record) error {
			report.recent[g.First-1] = g.Prev
			for i := range records {
				if records[i].Type == RecordSegments {
					list = retained{parseSegmentList(records[i].Entry.Payload), n}
				}
			}
			return nil
		})
		if err != nil {
			return end, err
		}
		if end.Stop != nil && end.Acknowledged && !(l.o.Durability == OS && n == newest) {
			return end, refused(end.Stop)
		}
		report.recent[end.Next-1] = end.Hash
		if h := sc.HashAt[pin.Index]; h != (Hash{}) {
			report.recent[pin.Index] = h
		}
		return end, nil
	}
	end, err := scan(newest)
	if err != nil {
		return end, list, err
	}
	for i := len(numbers) - 2; i >= 0 && list.in == 0; i-- {
		before, err := scan(numbers[i])
		if err != nil {
			return end, list, err
		}
		if h := l.segments[numbers[i+1]].header; numbers[i]+1 == h.Number && (before.Next != h.First || before.Hash != h.Prev) {
			d := before.Stop
			if d == nil {
				d = &Damage{l.dir.String(), numbers[i], before.Offset, fmt.Sprintf("segment ends before index %d, the next one begins at %d", before.Next, h.First)}
			}
			return end, list, refused(d)
		}
		if end.Last.Length == 0 {
			end.Last = before.Last
		}
	}
	return end, list, nil
}

func parseSegmentList(b []byte) (numbers []uint64) {
	for ; len(b) >= 8; b = b[8:] {
		numbers = append(numbers, binary.LittleEndian.Uint64(b))
	}
	return numbers
}

// checkPin refuses a log that is shorter than it swore, or another one.
func (l *Log) checkPin(pin Pin, end SegmentEnd, report *Report) error {
	last := end.Next - 1
	newest := end.Last.Segment
	if pin.Index > last {
		return fmt.Errorf("journal refuses to open: %s ends at index %d (segment %s, offset %d), but its pin swears to index %d in segment %s: acknowledged data is missing; refill this volume from its peers, or run clusterctl journal verify on it",
			l.dir, last, segmentName(max(newest, 1)), end.Offset, pin.Index, segmentName(max(pin.Segment, 1)))
	}
	if h, known := report.recent[pin.Index]; known && pin.Index > 0 && h != pin.Hash {
		return fmt.Errorf("journal refuses to open: %s has hash %s at index %d, its pin says %s: the log or the pin was replaced; restore both from one copy or refill this volume", l.dir, h, pin.Index, pin.Hash)
	}
	return nil
}

// cut removes what a crash left of a group that was never acknowledged, and makes what was found
// durable: after a kill it may be in the page cache only.
func (l *Log) cut(end SegmentEnd, report *Report) error {
	_, newest := l.Segments()
	s := l.segments[newest]
	if end.Stop != nil {
		report.Cut = end.Stop
		until := min(end.Offset+Sector, s.size)
		if l.o.Durability == OS {
			until = s.size // without syncs, later groups may have survived where an earlier one did not
		}
		for off := end.Offset; off < until; off += int64(len(zeros)) {
			if err := s.file.WriteAt([][]byte{zeros[:min(int64(len(zeros)), until-off)]}, off); err != nil {
				return err
			}
		}
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	l.w.active, l.w.off, l.w.next, l.w.hash = s, end.Offset, end.Next, end.Hash
	return nil
}

// retained is the newest list of retained segments and the segment it stands in, 0 if there is none.
type retained struct {
	numbers []uint64
	in      uint64
}

// matchList compares the files with the newest list of segments: a missing one is lost data, an extra one
// is left over from an interrupted recycling. A list speaks of its own segment and those below. The ones
// above began after it, and all of them are retained, because recycling any would have written a newer
// list; without a list none was ever recycled.
func (l *Log) matchList(numbers []uint64, list retained) error {
	live := slices.Clone(list.numbers)
	for n := list.in + 1; n <= numbers[len(numbers)-1]; n++ {
		live = append(live, n)
	}
	for _, n := range live {
		if l.segments[n] == nil {
			return fmt.Errorf("journal refuses to open: %s/%s is missing although the log retains it: restore the file or refill this volume from its peers", l.dir, segmentName(n))
		}
		if bad := l.segments[n].bad; bad != nil {
			return bad
		}
	}
	l.w.live = live
	for _, n := range numbers {
		if slices.Contains(live, n) {
			continue
		}
		s := l.segments[n]
		delete(l.segments, n)
		if err := errors.Join(s.file.Close(), l.dir.Remove(segmentName(n))); err != nil {
			return err
		}
	}
	return nil
}
