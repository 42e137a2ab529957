package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/badger"
	"lockstep/journal/log"
	"lockstep/journal/vfs"
)

// Open opens one volume; see OpenAll.
func Open(o Options) (*Volume, error) {
	vs, err := OpenAll([]Options{o}, nil)
	if err != nil {
		return nil, err
	}
	return vs[0], nil
}

// OpenAll opens the volumes of a process in parallel, lets them witness each other, and only then
// starts them. Volumes that cannot be opened are reported through failed and are nil in the result;
// with failed nil the first such error closes the others and is returned.
func OpenAll(options []Options, failed func(core.ReplicaID, error)) ([]*Volume, error) {
	witness := log.NewWitness()
	volumes := make([]*Volume, len(options))
	errs := make([]error, len(options))
	var group errgroup.Group
	for i, o := range options {
		group.Go(func() error {
			volumes[i], errs[i] = prepare(o, witness)
			return nil
		})
	}
	_ = group.Wait()
	if err := errors.Join(errs...); err != nil && failed == nil {
		for _, v := range volumes {
			if v != nil {
				v.Abandon()
			}
		}
		return nil, err
	}
	var opened []log.Opened
	for i, v := range volumes {
		if errs[i] != nil {
			failed(options[i].Broker, errs[i])
			continue
		}
		opened = append(opened, log.Opened{Log: v.log, Report: v.report.Report})
	}
	lossy := log.Lossy(opened, witness)
	for _, v := range volumes {
		if v == nil {
			continue
		}
		if reason := lossy[v.o.Broker]; reason != "" {
			v.report.Lossy = reason
		}
	}
	return volumes, nil
}

// prepare opens the log and its index; nothing is appended before OpenAll has compared the witnesses.
func prepare(o Options, witness *log.Witness) (*Volume, error) {
	if o.BootID == "" {
		o.BootID = bootID()
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
	}
	if o.MemTableBytes == 0 {
		// A small volume gets a small index: its memtables are mapped files that need room, too.
		o.MemTableBytes = min(max(o.SegmentBytes/2, 8<<20), 32<<20)
	}
	if o.Reserve == 0 {
		o.Reserve = 2*o.SegmentBytes + badger.SpaceNeeded(o.MemTableBytes)
	}
	if o.Retention == 0 {
		o.Retention = 30 * time.Second
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if o.LogDir == nil {
		dir, err := vfs.NewReal(filepath.Join(o.Dir, "log"))
		if err != nil {
			return nil, err
		}
		o.LogDir = dir
	}
	v := &Volume{o: o, witness: witness, last: map[journal.Stream]*journal.Seq{}}
	var err error
	v.log, v.report.Report, err = log.Open(log.Options{
		Dir: o.LogDir, Cluster: o.Cluster, Broker: o.Broker, SegmentBytes: o.SegmentBytes, Durability: o.Durability,
		Witness: witness, Reserve: o.Reserve, Foreground: o.Foreground, Spares: o.Spares, OnSwitch: o.OnSwitch,
		Sink: func(g log.Group) error { return v.behind.take(g) },
		Live: v.live,
	})
	if err != nil {
		return nil, err
	}
	v.report.Volume, v.report.Durability = v.log.Meta().Volume, o.Durability
	if err := v.openIndex(); err != nil {
		v.log.Abandon()
		return nil, err
	}
	v.behind = newBehind(v.index)
	for s, seq := range v.index.Last() {
		v.last[s] = &seq
	}
	var ctx context.Context
	ctx, v.cancel = context.WithCancel(context.Background())
	v.ended.Add(1)
	go v.tend(ctx)
	return v, nil
}

// openIndex takes the index if it may be believed, else makes it again, and brings it up to the log.
func (v *Volume) openIndex() error {
	dir := filepath.Join(v.o.Dir, indexName)
	why := ""
	if !v.report.Formatted {
		why = distrusted(v.o.Dir, v.o.BootID)
	}
	if v.o.Rebuild {
		why = "it was asked for"
	}
	open := func() (err error) {
		v.index, err = badger.Open(badger.Options{Dir: dir, MemTableBytes: v.o.MemTableBytes, Logger: v.o.Logger})
		return err
	}
	var lost []badger.Reference
	if !v.report.Formatted && (why == "" || why == whyWrong) {
		if err := v.markIndex(indexOpen); err != nil {
			return err
		}
		if err := open(); errors.Is(err, badger.ErrNoRoom) {
			return err // making it again would take more
		} else if err != nil {
			why = fmt.Sprintf("the index cannot be opened: %v", err)
		} else {
			found := ""
			if found, lost, err = v.checkIndex(why != ""); err != nil {
				return errors.Join(err, v.index.Close())
			}
			if why = cmp.Or(found, why); why == "" {
				return nil
			}
			if err := v.index.Close(); err != nil {
				return err
			}
		}
	}
	// A crash or an error may leave half of what is removed here, and Badger would take it.
	word := indexMaking
	if len(lost) > 0 {
		word = indexWrong // what the old one knew is asked for once more
	}
	if err := v.markIndex(word); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := v.markIndex(indexOpen); err != nil {
		return err
	}
	if err := open(); err != nil {
		return err
	}
	v.report.Rebuilt = why
	if err := v.catchUp(); err != nil {
		return errors.Join(err, v.index.Close())
	}
	return v.mourn(lost)
}

// checkIndex brings a believed index up to the log and says why it must be made again all the same, with
// what it knew that may be lost.
func (v *Volume) checkIndex(wrong bool) (why string, lost []badger.Reference, err error) {
	if covered, _ := v.index.Covered(); covered > v.report.Last {
		if v.o.Durability == log.Fsync {
			v.report.Lossy = fmt.Sprintf("volume of broker %d is LOSSY: its own index had seen index %d durable, the log ends at %d", v.o.Broker, covered, v.report.Last)
		}
		return fmt.Sprintf("the index covers index %d, the log ends at %d", covered, v.report.Last), nil, nil
	}
	if err := v.catchUp(); err != nil {
		return "", nil, err
	}
	numbers, _ := v.log.Segments()
	missing := v.index.Missing(numbers)
	if len(missing) == 0 && !wrong {
		return "", nil, nil
	}
	if lost, err = v.index.Dangling(numbers, mournMax); err != nil || len(missing) == 0 {
		return "", lost, err
	}
	return fmt.Sprintf("the index points to segments %v, which the log does not have", missing), lost, nil
}

const mournMax = 10_000 // references that are looked up again in an index that was made again

// mourn declares the volume LOSSY when the old index knew entries that the log does not have: it was
// durable, somebody may have been told, and the peers have it (R12).
func (v *Volume) mourn(lost []badger.Reference) error {
	for _, r := range lost {
		held, err := v.index.Holds(r)
		if err != nil {
			return errors.Join(err, v.index.Close())
		}
		if !held {
			v.report.Lossy = fmt.Sprintf("volume of broker %d is LOSSY: its own index had entry %d of %s in segment %d, the log has neither", v.o.Broker, r.Seq, r.Stream, r.Segment)
			return nil
		}
	}
	return nil
}

// catchUp replays the log from the covered index on.
func (v *Volume) catchUp() error {
	covered, _ := v.index.Covered()
	if covered >= v.report.Last {
		return nil
	}
	numbers, _ := v.log.Segments()
	for i, n := range numbers {
		if i+1 < len(numbers) && v.log.First(numbers[i+1]) <= covered+1 {
			continue
		}
		if err := v.log.ScanSegment(n, func(g *log.GroupHeader, records []log.Record) error {
			last := g.First + uint64(g.Frames) - 1
			if last <= covered {
				return nil
			}
			group := log.Group{First: g.First, Last: last, Records: make([]*log.Record, len(records))}
			for i := range records {
				group.Records[i] = &records[i]
			}
			return v.index.Reapply(group)
		}); err != nil {
			return fmt.Errorf("rebuild the index of %s: %w", v.o.LogDir, err)
		}
	}
	return nil
}

// saidEvery is how often a full disk is spoken of.
const saidEvery = 10 * time.Second

// tend watches the space left and cleans segments until the volume is closed. It cleans at its first tick, too:
// a process that is restarted more often than retention runs would never give anything back.
func (v *Volume) tend(ctx context.Context) {
	defer v.ended.Done()
	space := time.NewTicker(100 * time.Millisecond)
	defer space.Stop()
	sinceClean, sinceSaid := time.Now().Add(-v.o.Retention), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-space.C:
			v.log.CheckSpace()
			if n := v.log.Waiting(); n > 0 && v.o.Logger != nil && time.Since(sinceSaid) >= saidEvery {
				sinceSaid = time.Now()
				v.o.Logger.Error("the disk is full: nothing is written until it has room for a segment; free space on it", "volume", v.o.Broker, "dir", v.o.Dir, "bytes_needed", n)
			}
			if v.o.Retention > 0 && time.Since(sinceClean) >= v.o.Retention {
				sinceClean = time.Now()
				if err := v.Clean(); err != nil && v.o.Logger != nil && ctx.Err() == nil {
					v.o.Logger.Warn("cleaning segments", "volume", v.o.Broker, "error", err)
				}
			}
		}
	}
}

// OpenBeside reopens one volume of a running process: it joins the witness its siblings share and is
// compared with what they know of it. siblings may hold nil for volumes that are closed.
func OpenBeside(o Options, siblings []*Volume) (*Volume, error) {
	for _, s := range siblings {
		if s == nil {
			continue
		}
		v, err := prepare(o, s.witness)
		if err != nil {
			return nil, err
		}
		if reason := log.LossyBeside(log.Opened{Log: v.log, Report: v.report.Report}, s.witness); reason != "" {
			v.report.Lossy = reason
		}
		return v, nil
	}
	return Open(o)
}
