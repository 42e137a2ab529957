package quorum

import (
	"errors"
	"fmt"

	"lockstep/actors/core"
	"lockstep/journal"
)

// Rejoin brings back the volume of a member that failed, reopened by the caller: it is refilled from a
// member that has everything, gets what was proposed meanwhile, and counts again. Proposals go on
// beside it. It blocks until the volume is whole.
func (q *Quorum) Rejoin(id core.ReplicaID, j journal.Journal) error {
	target, err := read(j)
	if err != nil {
		return err
	}
	q.mu.Lock()
	var m, from *member
	for _, c := range q.members {
		if c.id == id {
			m = c
		} else if c.err == nil && !c.joining && (from == nil || from.acked < c.acked) {
			from = c
		}
	}
	switch {
	case m == nil:
		err = fmt.Errorf("broker %d keeps no control streams; add its volume and restart", id)
	case m.err == nil:
		err = fmt.Errorf("the volume of broker %d did not fail", id)
	case q.lost != nil:
		err = q.lost
	case q.closed:
		err = journal.ErrClosed
	case from == nil:
		err = errors.New("no volume is left to copy the control streams from")
	}
	if err != nil {
		q.mu.Unlock()
		return err
	}
	m.journal, m.err, m.joining, m.backlog = j, nil, true, nil
	upTo := Position{q.term, q.seq}
	q.mu.Unlock()

	copied, err := q.fill(from, m, target, upTo)
	for err == nil {
		q.mu.Lock()
		if len(m.backlog) == 0 {
			m.acked, m.joining = upTo.Seq, false
			q.mu.Unlock()
			return nil
		}
		todo := m.backlog
		m.backlog = nil
		q.mu.Unlock()
		for _, c := range todo {
			if reached, ok := copied[c.stream]; ok && !reached.Less(c.place) {
				continue // a snapshot that was copied covers it
			}
			if err = settle(func(done journal.Done) { c.tell(j, done) }); err != nil {
				break
			}
		}
		upTo.Seq = todo[len(todo)-1].seq
	}
	q.mu.Lock()
	m.err, m.joining, m.backlog = err, false, nil
	q.mu.Unlock()
	return err
}

// fill waits until the source has everything up to upTo on disk, and copies it.
func (q *Quorum) fill(from, to *member, target *content, upTo Position) (map[journal.Stream]Position, error) {
	// Behind whatever was handed to the source before, on its own writer.
	if err := settle(func(done journal.Done) { from.journal.Append(Stream, nil, done) }); err != nil {
		return nil, err
	}
	source, err := read(from.journal)
	if err != nil {
		return nil, err
	}
	return refill(from.journal, source, to.journal, target, upTo)
}
