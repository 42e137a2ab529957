package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"lockstep/actors/core"
	"lockstep/journal/log"
	"lockstep/journal/vfs"
)

// Problem is something that is not as it was written.
type Problem struct {
	Dir    string
	File   string
	Offset int64 // -1 where no single place is meant
	Text   string
}

func (p Problem) String() string {
	if p.Offset < 0 {
		return fmt.Sprintf("%s/%s: %s", p.Dir, p.File, p.Text)
	}
	return fmt.Sprintf("%s/%s at offset %d: %s", p.Dir, p.File, p.Offset, p.Text)
}

// VolumeReport is what Verify found in one volume.
type VolumeReport struct {
	Path     string
	Meta     log.Meta
	Segments int
	Groups   int
	Frames   uint64
	Bytes    int64
	First    uint64 // lowest retained index
	Last     uint64 // highest index
	Hash     log.Hash
	// Torn is what stands behind the last group, as a crash leaves it: never acknowledged, unless a
	// pin or a sibling says otherwise, which is then a Problem. Empty if there is nothing.
	Torn     string
	Problems []Problem

	ends  map[uint64]log.Hash // the chain behind each group
	marks []log.Mark          // the newest one per segment and sibling
}

// Report is what Verify found in all of them.
type Report struct{ Volumes []VolumeReport }

// OK reports whether nothing is wrong.
func (r Report) OK() bool {
	return !slices.ContainsFunc(r.Volumes, func(v VolumeReport) bool { return len(v.Problems) > 0 })
}

// Verify reads every retained segment of the given volumes and checks CRCs, chain, pins, the list of
// segments, and what the volumes witnessed of each other. err is about what could not be read at all.
func Verify(paths ...string) (Report, error) {
	var report Report
	for _, path := range paths {
		d, err := dir(path)
		if err != nil {
			return report, err
		}
		v, err := verify(d)
		if err != nil {
			return report, fmt.Errorf("%s: %w", path, err)
		}
		v.Path = path
		report.Volumes = append(report.Volumes, v)
	}
	for i := range report.Volumes {
		if v := &report.Volumes[i]; v.behind(report.Volumes) {
			// A running process went on between the two looks: what was witnessed must be there now.
			d, err := dir(v.Path)
			if err != nil {
				return report, err
			}
			path, marks := v.Path, v.marks
			if *v, err = verify(d); err != nil {
				return report, fmt.Errorf("%s: %w", path, err)
			}
			v.Path, v.marks = path, marks // newer marks would speak of what others did after their look
		}
	}
	for i := range report.Volumes {
		for j := range report.Volumes {
			if i != j {
				report.Volumes[j].witnessed(&report.Volumes[i])
			}
		}
	}
	return report, nil
}

// verify repeats a look that found problems: a running writer may have caused it.
func verify(d vfs.FS) (v VolumeReport, err error) {
	for range tries {
		v, err = look(d)
		if err == nil && len(v.Problems) == 0 {
			return v, nil
		}
	}
	return v, err
}

func (v *VolumeReport) problem(d vfs.FS, file string, off int64, format string, a ...any) {
	v.Problems = append(v.Problems, Problem{d.String(), file, off, fmt.Sprintf(format, a...)})
}

func look(d vfs.FS) (VolumeReport, error) {
	v := VolumeReport{Path: d.String(), ends: map[uint64]log.Hash{}}
	meta, err := log.ReadMeta(d)
	if err != nil {
		v.problem(d, "meta", -1, "%v", err)
		return v, nil
	}
	v.Meta = meta
	// The pin is read first: what it swears to was written before.
	pin, damaged, exists, err := log.ReadPin(d)
	for _, e := range damaged {
		v.problem(d, "pin", -1, "%v", e)
	}
	if !exists || err != nil {
		v.problem(d, "pin", -1, "no valid slot (exists: %v)", exists)
	}
	numbers, err := log.ListSegments(d)
	if err != nil {
		return v, err
	}
	if n := len(numbers); n > 0 && prepared(d, numbers[n-1]) {
		numbers = numbers[:n-1]
	}
	list, err := v.segments(d, numbers, pin)
	if err != nil {
		return v, err
	}
	if exists && len(damaged) < 2 {
		v.checkPin(d, pin)
	}
	for n := list.in + 1; len(numbers) > 0 && n <= numbers[len(numbers)-1]; n++ {
		list.numbers = append(list.numbers, n) // began behind the list
	}
	v.Problems = slices.DeleteFunc(v.Problems, func(p Problem) bool {
		// On its way to become a spare: it may have the mark of its next life under its old name.
		return slices.ContainsFunc(numbers, func(n uint64) bool {
			return log.SegmentName(n) == p.File && !slices.Contains(list.numbers, n)
		})
	})
	for _, n := range list.numbers {
		if !slices.Contains(numbers, n) {
			v.problem(d, log.SegmentName(n), -1, "is missing although the log retains it")
		}
	}
	return v, nil
}

// prepared reports whether segment n has its file but was not begun.
func prepared(d vfs.FS, n uint64) bool {
	f, err := d.OpenRead(log.SegmentName(n))
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = log.ReadSegmentHeader(d, n, f)
	return errors.Is(err, log.ErrPrepared)
}

// retained is the newest list of retained segments and the segment it stands in, 0 if there is none.
type retained struct {
	numbers []uint64
	in      uint64
}

// segments reads them all and returns the newest list of retained ones.
func (v *VolumeReport) segments(d vfs.FS, numbers []uint64, pin log.Pin) (list retained, err error) {
	var before *log.SegmentEnd
	for i, n := range numbers {
		name := log.SegmentName(n)
		f, err := d.OpenRead(name)
		if errors.Is(err, fs.ErrNotExist) {
			before = nil
			continue // recycled meanwhile
		}
		if err != nil {
			return list, err
		}
		h, err := log.ReadSegmentHeader(d, n, f)
		if err != nil {
			v.problem(d, name, 0, "%v", err)
			before = nil
			_ = f.Close()
			continue
		}
		if before != nil && numbers[i-1] == n-1 && (before.Next != h.First || before.Hash != h.Prev) {
			v.problem(d, name, 0, "begins at index %d behind hash %s, the segment before it ends before %d with %s", h.First, h.Prev, before.Next, before.Hash)
		}
		if v.Segments == 0 {
			v.First = h.First
		}
		v.Segments++
		v.ends[h.First-1] = h.Prev
		sc := log.Scanner{Dir: d, Volume: v.Meta.Volume, HashAt: map[uint64]log.Hash{pin.Index: {}}}
		end, err := sc.Scan(f, h, func(g *log.GroupHeader, records []log.Record) error {
			v.Groups++
			v.Frames += uint64(g.Frames)
			v.Bytes += int64(g.Length)
			v.ends[g.First-1] = g.Prev
			for i := range records {
				if records[i].Type == log.RecordSegments {
					list = retained{log.SegmentList(records[i].Entry.Payload), n}
				}
			}
			return nil
		})
		_ = f.Close()
		if err != nil {
			v.problem(d, name, -1, "%v", err)
			before = nil
			continue
		}
		if h := sc.HashAt[pin.Index]; h != (log.Hash{}) {
			v.ends[pin.Index] = h
		}
		v.ends[end.Next-1] = end.Hash
		v.marks = append(v.marks, end.Last.Marks...)
		v.Last, v.Hash = end.Next-1, end.Hash
		if end.Stop != nil {
			if i+1 < len(numbers) || end.Acknowledged {
				v.problem(d, name, end.Stop.Offset, "%s", end.Stop.Reason)
			} else {
				v.Torn = end.Stop.Error()
			}
		}
		before = &end
	}
	return list, nil
}

func (v *VolumeReport) checkPin(d vfs.FS, pin log.Pin) {
	h, known := v.ends[pin.Index]
	switch {
	case pin.Volume != v.Meta.Volume:
		v.problem(d, "pin", -1, "belongs to volume %s, this is %s", pin.Volume, v.Meta.Volume)
	case pin.Index > v.Last:
		v.problem(d, "pin", -1, "swears to index %d, the log ends at %d", pin.Index, v.Last)
	case known && pin.Index > 0 && h != pin.Hash:
		v.problem(d, "pin", -1, "swears to hash %s at index %d, the log has %s", pin.Hash, pin.Index, h)
	}
}

// behind reports whether another volume saw more of v than v shows.
func (v *VolumeReport) behind(all []VolumeReport) bool {
	return slices.ContainsFunc(all, func(o VolumeReport) bool {
		return slices.ContainsFunc(o.marks, func(m log.Mark) bool { return m.Volume == v.Meta.Volume && m.Index > v.Last })
	})
}

// witnessed compares v with what from saw of it. Volumes of different clusters may be looked at together: their broker
// ids say nothing of each other.
func (v *VolumeReport) witnessed(from *VolumeReport) {
	if from.Meta.Cluster != v.Meta.Cluster {
		return
	}
	told := map[core.ReplicaID]bool{}
	for i := len(from.marks) - 1; i >= 0; i-- { // newest first: one complaint is enough
		m := from.marks[i]
		if m.Broker != v.Meta.Broker || told[m.Broker] || m.Index == 0 {
			continue
		}
		text := ""
		h, known := v.ends[m.Index]
		switch {
		case m.Volume != v.Meta.Volume:
			text = fmt.Sprintf("is volume %s, volume %s stood in its place", v.Meta.Volume, m.Volume)
		case m.Index > v.Last:
			text = fmt.Sprintf("ends at index %d, index %d was durable", v.Last, m.Index)
		case known && h != m.Hash:
			text = fmt.Sprintf("has hash %s at index %d, %s was durable", h, m.Index, m.Hash)
		default:
			continue
		}
		told[m.Broker] = true
		v.Problems = append(v.Problems, Problem{v.Path, "log", -1, fmt.Sprintf("%s, as the volume of broker %d witnessed", text, from.Meta.Broker)})
	}
}
