// Package audit reads journals without opening them: it looks at segments, pins and meta only, never
// at Badger, and writes nothing. Dump, History and Verify are therefore safe on the directory of a
// running process and on a copy. Rebuild needs a stopped store.
//
// A path is the directory of a volume (the one that holds log/) or the log directory itself.
package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/log"
	"lockstep/journal/vfs"
	"lockstep/journal/volume"
)

// Entry is one frame of a journal.
type Entry struct {
	log.Record // Index, Pos, Type, Stream, Seq, Copy, Entry; the payload is valid during the visit
	Broker     core.ReplicaID
	Volume     core.Incarnation
}

// dir finds the segments of a volume.
func dir(path string) (vfs.FS, error) {
	if inner := filepath.Join(path, "log"); isDir(inner) {
		path = inner
	}
	d, err := vfs.OpenReal(path)
	if err != nil {
		return nil, fmt.Errorf("--data-dir: %w; give the directory of a volume", err)
	}
	if _, err := log.ReadMeta(d); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a journal: it has no meta file; give the directory of a volume", path)
	}
	return d, nil
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Dump visits the frames of a volume in the order of the log. An entry that was moved by cleaning is
// met again with Copy set. Damage ends the dump with an error that names the place; a torn tail does
// not. Give prefix "" for all streams; frames of the log itself (lists of segments) have stream "".
func Dump(path, prefix string, visit func(Entry) error) error {
	d, err := dir(path)
	if err != nil {
		return err
	}
	return dump(d, prefix, visit)
}

func dump(d vfs.FS, prefix string, visit func(Entry) error) error {
	meta, err := log.ReadMeta(d)
	if err != nil {
		return err
	}
	numbers, err := log.ListSegments(d)
	if err != nil {
		return err
	}
	if n := len(numbers); n > 0 && prepared(d, numbers[n-1]) {
		numbers = numbers[:n-1]
	}
	next := uint64(0) // a segment that is read again after a failed look is visited from here on
	for i, n := range numbers {
		for try := 0; ; try++ {
			err := scan(d, meta, n, func(_ *log.GroupHeader, records []log.Record) error {
				for _, r := range records {
					if r.Index < next {
						continue
					}
					next = r.Index + 1
					if !strings.HasPrefix(string(r.Stream), prefix) {
						continue
					}
					if err := visit(Entry{Record: r, Broker: meta.Broker, Volume: meta.Volume}); err != nil {
						return stopped{err}
					}
				}
				return nil
			})
			var stop stopped
			if errors.As(err, &stop) {
				return stop.err
			}
			if errors.Is(err, fs.ErrNotExist) && i+1 < len(numbers) {
				break // recycled meanwhile: what was live in it comes again at the head
			}
			if err != nil && try < tries && i+1 == len(numbers) {
				continue // a group was being written while it was read
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// tries is how often a damaged look at a segment is repeated before it is believed: the writer of a
// running process may have been in the middle of a group.
const tries = 3

// stopped carries an error of a visit past the retries.
type stopped struct{ err error }

func (s stopped) Error() string { return s.err.Error() }

func scan(d vfs.FS, meta log.Meta, n uint64, visit func(*log.GroupHeader, []log.Record) error) error {
	f, err := d.OpenRead(log.SegmentName(n))
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := log.ReadSegmentHeader(d, n, f)
	if errors.Is(err, log.ErrPrepared) {
		return nil
	}
	if err != nil {
		return err
	}
	sc := log.Scanner{Dir: d, Volume: meta.Volume}
	end, err := sc.Scan(f, h, visit)
	if err == nil && end.Stop != nil && end.Acknowledged {
		return end.Stop
	}
	return err
}

// History replays one stream from segments alone: the newest snapshot, if there is one, then every
// entry behind it; for a ledger stream every entry, because evidence outlives snapshots. It is the
// journal's Replay for audits, with the difference that it may lag a running writer.
func History(path string, s journal.Stream, snapshot func([]byte) error, entry func(journal.Seq, core.Entry) error) error {
	var state []byte
	has := false
	var covers, dropped journal.Seq
	entries := map[journal.Seq]core.Entry{}
	err := Dump(path, string(s), func(e Entry) error {
		if e.Stream != s {
			return nil
		}
		switch e.Type {
		case log.RecordEntry:
			c := e.Entry
			c.Payload = slices.Clone(c.Payload)
			entries[e.Seq] = c
		case log.RecordSnapshot:
			if !has || e.Seq >= covers {
				state, covers, has = slices.Clone(e.Entry.Payload), e.Seq, true
			}
		case log.RecordDrop:
			dropped = max(dropped, e.Seq)
		case log.RecordSegments:
		default:
			panic(fmt.Sprintf("audit: unknown record type %d", e.Type))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if has && covers < dropped {
		has, covers = false, 0
	}
	if has {
		if err := snapshot(state); err != nil {
			return err
		}
	}
	order := make([]journal.Seq, 0, len(entries))
	for seq := range entries {
		if seq > dropped && (seq > covers || s.IsLedger()) {
			order = append(order, seq)
		}
	}
	slices.Sort(order)
	for _, seq := range order {
		if err := entry(seq, entries[seq]); err != nil {
			return err
		}
	}
	return nil
}

// Rebuild makes the index of a stopped volume again from its segments. A running one refuses.
func Rebuild(path string) (volume.Report, error) {
	d, err := dir(path)
	if err != nil {
		return volume.Report{}, err
	}
	meta, err := log.ReadMeta(d)
	if err != nil {
		return volume.Report{}, err
	}
	v, err := volume.Open(volume.Options{
		Dir: filepath.Dir(d.String()), Cluster: meta.Cluster, Broker: meta.Broker, Rebuild: true, Retention: -1,
	})
	if err != nil {
		return volume.Report{}, err
	}
	return v.Report(), v.Close()
}
