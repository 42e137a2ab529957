package quorum

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/journal"
)

// content is what one volume holds of the control streams.
type content struct {
	markers   []marker
	refilling bool // a copy onto this volume did not end
	last      Position
	streams   map[journal.Stream]*history
}

// history is one stream.
type history struct {
	snapshot *Snapshot // State is not kept
	entries  []Position
	seq      journal.Seq // the highest shells saw
}

func (h *history) exists() bool {
	return h != nil && (len(h.entries) > 0 || (h.snapshot != nil && !h.snapshot.Absent))
}

// base is the snapshot's place, zero without one.
func (h *history) base() Position {
	if h == nil || h.snapshot == nil || h.snapshot.Absent {
		return Position{}
	}
	return h.snapshot.Place
}

// prefixOf reports whether g only goes on where h ends.
func (h *history) prefixOf(g *history) bool {
	if h == nil {
		return g.base() == Position{}
	}
	return h.base() == g.base() && len(h.entries) <= len(g.entries) &&
		slices.Equal(h.entries, g.entries[:len(h.entries)])
}

// read takes stock of a volume.
func read(j journal.Journal) (*content, error) {
	c := &content{streams: map[journal.Stream]*history{}}
	err := j.Replay(Stream, func(b []byte) error { return c.restore(b) }, func(_ journal.Seq, e core.Entry) error {
		return c.own(e)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Stream, err)
	}
	names, err := j.Streams("control/")
	if err != nil {
		return nil, err
	}
	for _, s := range names {
		if s == Stream {
			continue
		}
		h := &history{}
		err := j.Replay(s, func(b []byte) error {
			snap, err := ParseSnapshot(b)
			if err != nil {
				return err
			}
			snap.State = nil
			h.snapshot, h.seq = &snap, snap.Seq
			c.reach(snap.Place)
			return nil
		}, func(_ journal.Seq, e core.Entry) error {
			p, seq := Place(e)
			h.entries = append(h.entries, p)
			h.seq = seq
			c.reach(p)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		c.streams[s] = h
	}
	return c, nil
}

func (c *content) reach(p Position) {
	if c.last.Less(p) {
		c.last = p
	}
}

// own takes one entry of the quorum's stream.
func (c *content) own(e core.Entry) error {
	p, _ := Place(e)
	switch e.Kind {
	case kindMarker:
		ids, err := decodeMembers(e.Payload)
		if err != nil {
			return err
		}
		c.markers = append(c.markers, marker{p, ids})
		c.reach(p)
	case kindDrop:
		c.reach(p)
	case kindBegin:
		c.refilling = true
	case kindEnd:
		c.refilling = false
		c.reach(p)
	default:
		return fmt.Errorf("unknown entry kind %d in %s: use the build that wrote it", e.Kind, Stream)
	}
	return nil
}

// The snapshot of the quorum's stream is its markers, so that it does not grow for ever.
func (c *content) state() []byte {
	var b []byte
	for _, m := range c.markers {
		head := wrapSnapshot(encodeMembers(m.members), m.Position, journal.Seq(len(m.members)), false)
		b = append(b, head...)
	}
	return b
}

func (c *content) restore(b []byte) error {
	for len(b) > 0 {
		s, err := ParseSnapshot(b)
		if err != nil {
			return err
		}
		n := 4 * int(s.Seq)
		if n < 0 || n > len(s.State) {
			return fmt.Errorf("snapshot of %s is damaged", Stream)
		}
		ids, err := decodeMembers(s.State[:n])
		if err != nil {
			return err
		}
		c.markers = append(c.markers, marker{s.Place, ids})
		c.reach(s.Place)
		b = s.State[n:]
	}
	return nil
}
