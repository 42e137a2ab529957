package quorum

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockstep/actors/core"
	"lockstep/journal"
)

// Open compares the histories, refills who is behind, and starts a new term. It needs a majority that
// works.
func Open(members []Member, o Options) (*Quorum, error) {
	q := &Quorum{o: o, need: writers(len(members)), streams: map[journal.Stream]journal.Seq{}}
	for _, m := range members {
		mem := &member{id: m.ID, journal: m.Journal}
		if m.Journal == nil {
			mem.err = errors.New("it was not opened")
		} else if mem.content, mem.err = read(m.Journal); mem.err != nil {
			mem.err = fmt.Errorf("its control streams cannot be read: %w", mem.err)
		}
		q.members = append(q.members, mem)
	}
	best, err := q.elect()
	if err != nil {
		return nil, err
	}
	for _, m := range q.members {
		if m.err != nil || m == best || m.agrees(best) {
			continue
		}
		if _, err := refill(best.journal, best.content, m.journal, m.content, best.content.last); err != nil {
			m.err = fmt.Errorf("refill from broker %d: %w", best.id, err)
		}
	}
	for s, h := range best.content.streams {
		q.streams[s] = h.seq
	}
	q.seq = best.content.last.Seq
	if err := q.begin(); err != nil {
		return nil, err
	}
	return q, nil
}

func (m *member) agrees(best *member) bool {
	if m.content.refilling || m.content.last != best.content.last || newest(m.content.markers).Position != newest(best.content.markers).Position {
		return false
	}
	for s, h := range best.content.streams {
		if t := m.content.streams[s]; h.exists() != t.exists() || (h.exists() && (t.base() != h.base() || !slices.Equal(t.entries, h.entries))) {
			return false
		}
	}
	for s, h := range m.content.streams {
		if h.exists() && !best.content.streams[s].exists() {
			return false
		}
	}
	return true
}

// elect finds the winning history among enough members of the newest term.
func (q *Quorum) elect() (*member, error) {
	var best *member
	var believed []core.ReplicaID
	var why []string
	var current marker
	for _, m := range q.members {
		if m.err != nil {
			why = append(why, fmt.Sprintf("broker %d: %v", m.id, m.err))
			continue
		}
		if n := newest(m.content.markers); n.Term > current.Term {
			current = n
		}
		if m.content.refilling {
			why = append(why, fmt.Sprintf("broker %d: refilling it was interrupted", m.id))
			continue
		}
		believed = append(believed, m.id)
		if best == nil || best.content.last.Less(m.content.last) {
			best = m
		}
	}
	alive := 0
	for _, m := range q.members {
		if m.err == nil {
			alive++
		}
	}
	before := current.members
	if before == nil {
		for _, m := range q.members {
			before = append(before, m.id)
		}
	}
	found := 0
	for _, id := range before {
		if slices.Contains(believed, id) {
			found++
			continue
		}
		configured := slices.ContainsFunc(q.members, func(m *member) bool { return m.id == id })
		if !configured && !slices.Contains(q.o.Forget, id) {
			return nil, fmt.Errorf("control streams were kept on the volumes of brokers %v, broker %d is not configured any more: give its --data-dir again, or give it up with clusterctl journal forget-volume --broker %d and a --data-dir for each volume that is left", before, id, id)
		}
	}
	if best == nil || found < readers(len(before)) || alive < q.need {
		return nil, fmt.Errorf("%w: of the volumes of brokers %v, %d can be used, %d are needed to write and %d of the last term %v to read (%s): repair them, or give a lost one up with clusterctl journal forget-volume --broker ID and a --data-dir for each volume that is left",
			ErrLost, ids(q.members), alive, q.need, readers(len(before)), before, strings.Join(why, "; "))
	}
	return best, nil
}

func ids(members []*member) (out []core.ReplicaID) {
	for _, m := range members {
		out = append(out, m.id)
	}
	return out
}

// begin writes the marker of the new term and waits for a majority.
func (q *Quorum) begin() error {
	for _, m := range q.members {
		if m.content != nil {
			q.term = max(q.term, newest(m.content.markers).Term)
		}
		m.acked = q.seq
	}
	q.term++
	list := encodeMembers(ids(q.members))
	err := settle(func(done journal.Done) {
		q.mu.Lock()
		q.propose(Stream, 0, func(p Position) func(journal.Journal, journal.Done) {
			e := wrap(core.Entry{Kind: kindMarker, Payload: list}, p, 0)
			return func(j journal.Journal, done journal.Done) { j.Append(Stream, []core.Entry{e}, done) }
		}, done)
		q.mu.Unlock()
	})
	for _, m := range q.members {
		m.content = nil
	}
	return err
}
