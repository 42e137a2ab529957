// Package quorum makes one journal of control streams out of the volumes of a process (D15): an entry
// counts when a majority has it, so losing one volume loses no metadata and no committed offset.
//
// There is one proposer. All control streams share one sequence; every volume holds a prefix of it,
// because entries are handed to every volume in the same order. At open the longest history among
// enough volumes wins, the others are refilled from it, and a new term is written to a majority before
// anything else: its marker makes every history lose that an older term left behind unacknowledged.
package quorum

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"lockstep/actors/core"
	"lockstep/journal"
)

// ErrLost says that a majority of the control volumes is gone: the process must exit.
var ErrLost = errors.New("journal: majority of the control volumes is lost")

// Member is one volume.
type Member struct {
	ID      core.ReplicaID
	Journal journal.Journal // nil: configured, but could not be opened
}

// Options of a quorum. Callbacks run on a writer's goroutine and must not block.
type Options struct {
	// Failed is told once per volume that stopped taking entries while a majority remains.
	Failed func(core.ReplicaID, error)
	// Lost is told once when no majority remains; nothing will be acknowledged any more.
	Lost func(error)
	// Forget names members that are given up for good (clusterctl journal forget-volume). Without it
	// a member that is no longer configured refuses to open.
	Forget []core.ReplicaID
}

// Quorum implements journal.Journal for streams control/*.
type Quorum struct {
	o    Options
	need int

	mu      sync.Mutex
	members []*member
	term    int64
	seq     int64 // newest number given out
	streams map[journal.Stream]journal.Seq
	pending []pending
	lost    error
	closed  bool
	telling bool
}

type member struct {
	id      core.ReplicaID
	journal journal.Journal
	content *content
	acked   int64
	err     error // why it is out
	// backlog holds what came while the member is being refilled; nil otherwise.
	joining bool
	backlog []call
}

// pending is a call that waits for its majority.
type pending struct {
	seq    int64
	stream journal.Seq
	done   journal.Done
}

// call is one thing every member is told.
type call struct {
	seq    int64
	place  Position
	stream journal.Stream
	tell   func(j journal.Journal, done journal.Done)
}

// propose numbers a call and tells every member; q.mu is held.
func (q *Quorum) propose(s journal.Stream, seq journal.Seq, build func(Position) func(journal.Journal, journal.Done), done journal.Done) {
	err := q.lost
	if q.closed {
		err = journal.ErrClosed
	}
	if err != nil {
		if done != nil {
			go done(0, err)
		}
		return
	}
	q.seq++
	c := call{seq: q.seq, place: Position{q.term, q.seq}, stream: s}
	c.tell = build(c.place)
	q.pending = append(q.pending, pending{c.seq, seq, done})
	for _, m := range q.members {
		switch {
		case m.err != nil:
		case m.joining:
			m.backlog = append(m.backlog, c)
		default:
			q.tell(m, c)
		}
	}
	if alive := q.alive(); alive < q.need {
		go q.heard(nil, nil, 0, nil) // every member failed before this call: nobody else will say so
	}
}

func (q *Quorum) tell(m *member, c call) {
	j := m.journal
	c.tell(j, func(_ journal.Seq, err error) { q.heard(m, j, c.seq, err) })
}

func (q *Quorum) alive() (n int) {
	for _, m := range q.members {
		if m.err == nil && !m.joining {
			n++
		}
	}
	return n
}

// heard takes one answer of a member, and passes on what a majority now has.
func (q *Quorum) heard(m *member, from journal.Journal, seq int64, err error) {
	q.mu.Lock()
	if m != nil && m.journal == from { // not a late answer of the journal a rejoined member replaced
		if err == nil {
			m.acked = max(m.acked, seq)
		} else if m.err == nil {
			m.err = err
			if q.o.Failed != nil && !q.closed {
				defer q.o.Failed(m.id, err)
			}
		}
	}
	if q.alive() < q.need && q.lost == nil {
		var why []error
		for _, m := range q.members {
			if m.err != nil {
				why = append(why, fmt.Errorf("broker %d: %w", m.id, m.err))
			}
		}
		q.lost = fmt.Errorf("%w: %w", ErrLost, errors.Join(why...))
		if q.o.Lost != nil && !q.closed {
			defer q.o.Lost(q.lost)
		}
	}
	if q.telling {
		q.mu.Unlock()
		return // whoever is telling will see it: dones stay in order
	}
	q.telling = true
	for {
		acked := make([]int64, 0, len(q.members))
		for _, m := range q.members {
			if !m.joining {
				acked = append(acked, m.acked)
			}
		}
		upTo := committed(acked, q.need)
		if len(q.pending) == 0 || (q.pending[0].seq > upTo && q.lost == nil) {
			break
		}
		p := q.pending[0]
		q.pending[0] = pending{}
		q.pending = q.pending[1:]
		var failed error
		if p.seq > upTo {
			failed = q.lost
			p.stream = 0
		}
		if p.done != nil {
			q.mu.Unlock()
			p.done(p.stream, failed)
			q.mu.Lock()
		}
	}
	q.telling = false
	q.mu.Unlock()
}

// Append implements journal.Journal. Entries of control streams have no Op.
func (q *Quorum) Append(s journal.Stream, entries []core.Entry, done journal.Done) journal.Seq {
	if !isControl(s) || s == Stream || !s.Valid() {
		panic(fmt.Sprintf("journal: %q is not a control stream", s))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.streams[s]
	last := first + journal.Seq(len(entries))
	q.streams[s] = last
	// Each entry takes one number; the call is answered with the last one.
	q.seq += int64(max(len(entries)-1, 0))
	q.propose(s, last, func(p Position) func(journal.Journal, journal.Done) {
		wrapped := make([]core.Entry, len(entries))
		for i, e := range entries {
			if e.Op != core.IndexNone {
				panic(fmt.Sprintf("journal: an entry of %s has index op %d", s, e.Op))
			}
			wrapped[i] = wrap(e, Position{p.Term, p.Seq - int64(len(entries)-1-i)}, first+journal.Seq(i)+1)
		}
		return func(j journal.Journal, done journal.Done) { j.Append(s, wrapped, done) }
	}, done)
	return last
}

// Snapshot implements journal.Journal.
func (q *Quorum) Snapshot(s journal.Stream, state []byte, done journal.Done) {
	q.mu.Lock()
	defer q.mu.Unlock()
	seq := q.streams[s]
	q.streams[s] = seq
	q.propose(s, seq, func(p Position) func(journal.Journal, journal.Done) {
		b := wrapSnapshot(state, p, seq, false)
		return func(j journal.Journal, done journal.Done) { j.Snapshot(s, b, done) }
	}, done)
}

// Drop implements journal.Journal. The quorum's own stream notes it, so that a history with the drop
// is longer than one without.
func (q *Quorum) Drop(s journal.Stream, done journal.Done) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.streams[s]++
	q.propose(s, q.streams[s], func(p Position) func(journal.Journal, journal.Done) {
		note := wrap(core.Entry{Kind: kindDrop, Payload: []byte(s)}, p, 0)
		return func(j journal.Journal, done journal.Done) {
			j.Drop(s, nil)
			j.Append(Stream, []core.Entry{note}, done)
		}
	}, done)
}

// reader is a member that has everything that was acknowledged.
func (q *Quorum) reader() (journal.Journal, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var best *member
	for _, m := range q.members {
		if m.err == nil && !m.joining && (best == nil || best.acked < m.acked) {
			best = m
		}
	}
	if best == nil {
		return nil, q.lost
	}
	return best.journal, nil
}

// Replay implements journal.Journal.
func (q *Quorum) Replay(s journal.Stream, snapshot func([]byte) error, entry func(journal.Seq, core.Entry) error) error {
	j, err := q.reader()
	if err != nil {
		return err
	}
	return j.Replay(s, func(b []byte) error {
		snap, err := ParseSnapshot(b)
		if err != nil || snap.Absent {
			return err
		}
		return snapshot(snap.State)
	}, func(_ journal.Seq, e core.Entry) error {
		_, seq := Place(e)
		return entry(seq, unwrap(e))
	})
}

// Streams implements journal.Journal. The quorum's own stream is not listed.
func (q *Quorum) Streams(prefix string) ([]journal.Stream, error) {
	j, err := q.reader()
	if err != nil {
		return nil, err
	}
	names, err := j.Streams(prefix)
	return slices.DeleteFunc(names, func(s journal.Stream) bool { return s == Stream || !isControl(s) }), err
}

// Term is the number of this process's term.
func (q *Quorum) Term() int64 { return q.term }

// Standing is how far this process's term has come, and each volume with it.
func (q *Quorum) Standing() journal.Standing {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := journal.Standing{Term: q.term, Proposed: q.seq}
	var acked []int64
	for _, m := range q.members {
		at := journal.MemberStanding{Broker: m.id, Acked: m.acked, Err: m.err}
		if m.joining {
			at.Acked = -1
		} else {
			acked = append(acked, m.acked)
		}
		s.Members = append(s.Members, at)
	}
	s.Committed = committed(acked, q.need)
	return s
}

// Err is the loss of the majority, nil while there is one.
func (q *Quorum) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// Failing lists the members that do not take entries, with the reason.
func (q *Quorum) Failing() map[core.ReplicaID]error {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := map[core.ReplicaID]error{}
	for _, m := range q.members {
		if m.err != nil {
			out[m.id] = m.err
		}
	}
	return out
}

// Close stops proposing and waits until every working volume has what was proposed: a journal opened
// on them afterwards must not be overtaken by what still sat in a queue. The volumes belong to the
// caller, who closes them afterwards.
func (q *Quorum) Close() error {
	q.mu.Lock()
	q.closed = true
	var working []journal.Journal
	for _, m := range q.members {
		if m.err == nil && !m.joining {
			working = append(working, m.journal)
		}
	}
	q.mu.Unlock()
	for _, j := range working {
		// A failure is told to whoever waits for the entry; here it only means that nothing is queued.
		_ = settle(func(done journal.Done) { j.Append(Stream, nil, done) })
	}
	return nil
}
