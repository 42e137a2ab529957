package quorum

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/journal"
)

// refill makes the control streams of to equal to those of from, up to and including upTo. Between its
// begin and its end the volume is believed by nobody: its streams come one after the other, so a
// crash in between leaves a history with holes.
//
// It returns the place up to which each stream was copied, which lies above upTo where a snapshot does.
func refill(from journal.Journal, source *content, to journal.Journal, target *content, upTo Position) (map[journal.Stream]Position, error) {
	if err := settle(func(done journal.Done) {
		to.Append(Stream, []core.Entry{{Kind: kindBegin}}, done)
	}); err != nil {
		return nil, err
	}
	copied := map[journal.Stream]Position{}
	for s := range target.streams {
		if !source.streams[s].exists() {
			if err := settle(func(done journal.Done) { to.Drop(s, done) }); err != nil {
				return nil, err
			}
		}
	}
	names := make([]journal.Stream, 0, len(source.streams))
	for s := range source.streams {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, s := range names {
		reached, err := copyStream(from, to, s, source.streams[s], target.streams[s], upTo)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		copied[s] = reached
	}
	// The markers last, and with them the end.
	if err := settle(func(done journal.Done) { to.Snapshot(Stream, source.state(), nil); to.Append(Stream, nil, done) }); err != nil {
		return nil, err
	}
	end := wrap(core.Entry{Kind: kindEnd}, Position{source.last.Term, min(source.last.Seq, upTo.Seq)}, 0)
	return copied, settle(func(done journal.Done) { to.Append(Stream, []core.Entry{end}, done) })
}

// copyStream appends what is missing, or starts over from a snapshot where the two disagree.
func copyStream(from, to journal.Journal, s journal.Stream, have, theirs *history, upTo Position) (Position, error) {
	reached := Position{}
	skip := 0
	if theirs.prefixOf(have) {
		if theirs != nil {
			skip = len(theirs.entries)
		}
	} else {
		skip = -1
	}
	if !have.exists() {
		return reached, nil
	}
	var batch []core.Entry
	err := from.Replay(s, func(b []byte) error {
		snap, err := ParseSnapshot(b)
		if err != nil {
			return err
		}
		if !snap.Absent {
			reached = snap.Place
		}
		if skip < 0 {
			skip = 0
			return settle(func(done journal.Done) { to.Snapshot(s, b, done) })
		}
		return nil
	}, func(_ journal.Seq, e core.Entry) error {
		p, seq := Place(e)
		if upTo.Less(p) {
			return nil
		}
		if skip < 0 {
			skip = 0
			base := wrapSnapshot(nil, Position{}, seq-1, true)
			if err := settle(func(done journal.Done) { to.Snapshot(s, base, done) }); err != nil {
				return err
			}
		}
		reached = p
		if skip > 0 {
			skip--
			return nil
		}
		e.Payload = slices.Clone(e.Payload)
		batch = append(batch, e)
		if len(batch) < 500 {
			return nil
		}
		send := batch
		batch = nil
		return settle(func(done journal.Done) { to.Append(s, send, done) })
	})
	if err == nil && len(batch) > 0 {
		err = settle(func(done journal.Done) { to.Append(s, batch, done) })
	}
	return reached, err
}

// settle waits for one call.
func settle(call func(journal.Done)) error {
	done := make(chan error, 1)
	call(func(_ journal.Seq, err error) { done <- err })
	return <-done
}
