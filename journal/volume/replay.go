package volume

import (
	"errors"
	"fmt"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/log"
)

// Replay implements journal.Journal. A snapshot that was queued before may become durable on the way; what it covers is
// gone from the index then, and the replay goes on from it.
func (v *Volume) Replay(s journal.Stream, snapshot func([]byte) error, entry func(journal.Seq, core.Entry) error) error {
	if err := v.behind.drain(); err != nil {
		return err
	}
	const step = 1000
	from := journal.Seq(1)
	told := false
	var gone log.Position // where the look before found nothing any more
	for {
		snap, covers, positions, err := v.behind.history(s, from, step)
		if err != nil {
			return err
		}
		if snap != nil && (!told || covers >= from) {
			r, err := v.log.Read(*snap)
			if errors.Is(err, log.ErrMoved) && *snap != gone {
				gone = *snap
				continue
			}
			if err == nil && (r.Type != log.RecordSnapshot || r.Stream != s || r.Seq != covers) {
				err = errStale
			}
			if err != nil {
				return v.unreadable(s, covers, *snap, err)
			}
			if err := snapshot(r.Entry.Payload); err != nil {
				return err
			}
			told, from = true, max(from, covers+1)
		}
		moved := false
		for _, pos := range positions {
			r, err := v.log.Read(pos)
			if errors.Is(err, log.ErrMoved) && pos != gone {
				gone, moved = pos, true
				break
			}
			if err == nil && (r.Type != log.RecordEntry || r.Stream != s || r.Seq < from) {
				err = errStale
			}
			if err != nil {
				return v.unreadable(s, from, pos, err)
			}
			if err := entry(r.Seq, r.Entry); err != nil {
				return err
			}
			from = r.Seq + 1
		}
		if len(positions) < step && !moved {
			return nil
		}
	}
}

// unreadable names what a replay could not read. Cleaning moves the index before it gives a segment up, so a
// position that is gone and still named at the second look (D14) will be gone for ever.
func (v *Volume) unreadable(s journal.Stream, seq journal.Seq, pos log.Position, err error) error {
	err = fmt.Errorf("entry %d of %s, which the index has in segment %d at offset %d: %w", seq, s, pos.Segment, pos.Offset, err)
	if errors.Is(err, log.ErrMoved) || errors.Is(err, errStale) {
		return v.distrust(err)
	}
	return err
}

// distrust has the index made again by the next open and says so.
func (v *Volume) distrust(err error) error {
	err = fmt.Errorf("index of broker %d in %s does not match its log: %w; restart this broker, which makes the index again, or run clusterctl journal rebuild on the stopped volume", v.o.Broker, v.o.Dir, err)
	v.marking.Lock()
	v.wrong = true
	v.marking.Unlock()
	return errors.Join(err, v.markIndex(indexWrong))
}
