package volume

import (
	"errors"
	"slices"

	"lockstep/journal"
	"lockstep/journal/log"
)

// cleanBelow is the live share of a segment, in percent, at which copying the rest is worth it.
const cleanBelow = 25

// Clean gives back the space of segments that hold nothing any more, and of those that hold little,
// whose live entries it copies to the head of the log first. Streams keep their order; the place of an
// entry is the only thing that changes. One at a time; safe beside everything else.
func (v *Volume) Clean() error {
	v.cleaning.Lock()
	defer v.cleaning.Unlock()
	if err := v.Err(); err != nil {
		return err
	}
	numbers, active := v.log.Segments()
	// Everything in a sealed segment was taken before the switch: only now does its usage say so.
	if err := v.behind.drain(); err != nil {
		return err
	}
	oldest := true
	for _, n := range numbers {
		if n == active {
			break
		}
		u := v.index.Usage(n)
		if u.Live*100 > v.log.SegmentBytes(n)*cleanBelow {
			oldest = false
			continue
		}
		// The count only says where to look: a segment is given up because its frames were asked one by one.
		if err := v.copyLive(n, oldest); err != nil {
			return err
		}
		if err := v.log.Retire(n); err != nil {
			return err
		}
		if err := v.index.Forget(n); err != nil {
			return err
		}
	}
	return nil
}

// copyLive appends what segment n still holds to the head of the log. The writer asks again, just
// before it writes, whether a copy is live: a truncation may have come in between.
func (v *Volume) copyLive(n uint64, oldest bool) error {
	const step = 1 << 20
	durable := make(chan error, 1)
	var records []log.Record
	bytes, waiting := 0, 0
	flush := func() {
		if len(records) == 0 {
			return
		}
		v.log.Submit(&log.Item{Records: records, Done: func(err error) { durable <- err }})
		records, bytes = nil, 0
		waiting++
	}
	settle := func(leave int) (err error) {
		for ; waiting > leave; waiting-- {
			err = errors.Join(err, <-durable)
		}
		return err
	}
	err := v.log.ScanFrames(n, func(_ *log.GroupHeader, found []log.Record) error {
		for i := range found {
			r := found[i]
			live, err := v.index.Live(&r, oldest)
			if err != nil {
				return err
			}
			if !live {
				continue
			}
			r.Copy = true
			r.Stream = journal.Stream(append([]byte(nil), r.Stream...))
			r.Entry.Payload = slices.Clone(r.Entry.Payload)
			records = append(records, r)
			if bytes += int(r.Pos.Length); bytes >= step || len(records) >= 1000 {
				flush()
				if err := settle(0); err != nil {
					return err
				}
			}
		}
		return nil
	})
	flush()
	return errors.Join(err, settle(0))
}

// live is the writer's question about a copy. Everything before it has reached the index.
func (v *Volume) live(r *log.Record) bool {
	if v.behind.drain() != nil {
		return false
	}
	numbers, _ := v.log.Segments()
	live, err := v.index.Live(r, len(numbers) == 0 || r.Pos.Segment <= numbers[0])
	return err == nil && live
}
