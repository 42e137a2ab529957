package front

import (
	"math"
	"sync"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// reading is one partition of a fetch: what was asked for and, in a session, what was answered last.
type reading struct {
	topic string       // below v13
	id    core.TopicID // from v13 on
	asked messages.FetchRequestPartition
	told  told
}

// told is what a session's client knows of a partition. Where it last heard an error it knows nothing, so that
// the first good answer is sent whatever it says.
type told struct{ hw, lso, logStart int64 }

var toldNothing = told{-1, -1, -1}

type readingKey struct {
	topic     string
	id        core.TopicID
	partition int32
}

func (r *reading) key() readingKey { return readingKey{r.topic, r.id, r.asked.Partition} }

// readingsOf is the whole list of a request.
func readingsOf(r *messages.FetchRequest) (list []*reading) {
	for i := range r.Topics {
		t := &r.Topics[i]
		for _, p := range t.Partitions {
			list = append(list, &reading{topic: t.Topic, id: t.TopicId, asked: p, told: toldNothing})
		}
	}
	return list
}

// fetchSession is what a client reads from this broker, kept so that a fetch names only what changed, and is answered
// with only what changed (KIP-227). A session is its client's wherever that connects from; it is no connection's.
type fetchSession struct {
	id    int32
	byID  bool             // topics are named by id
	owner access.Principal // nobody else continues or ends it, or learns what it reads

	mu       sync.Mutex // held before that of the cache
	epoch    int32      // of the next request
	readings []*reading // in the order in which they are read
	index    map[readingKey]*reading
}

func newFetchSession(byID bool, owner access.Principal, list []*reading) *fetchSession {
	s := &fetchSession{byID: byID, owner: owner, epoch: 1, index: make(map[readingKey]*reading, len(list))}
	for _, r := range list {
		if s.index[r.key()] == nil {
			s.index[r.key()] = r
			s.readings = append(s.readings, r)
		}
	}
	return s
}

// update takes what a request adds, changes and forgets, in that order. s.mu is held.
func (s *fetchSession) update(r *messages.FetchRequest) {
	for _, asked := range readingsOf(r) {
		if old := s.index[asked.key()]; old != nil {
			old.asked = asked.asked
			continue
		}
		s.index[asked.key()] = asked
		s.readings = append(s.readings, asked)
	}
	forgotten := false
	for _, t := range r.ForgottenTopicsData {
		for _, p := range t.Partitions {
			k := readingKey{t.Topic, t.TopicId, p}
			_, was := s.index[k]
			forgotten = forgotten || was
			delete(s.index, k)
		}
	}
	if !forgotten {
		return
	}
	kept := s.readings[:0]
	for _, r := range s.readings {
		if s.index[r.key()] == r {
			kept = append(kept, r)
		}
	}
	clear(s.readings[len(kept):])
	s.readings = kept
}

// step is the epoch after e; 0 opens a session and is never reached again.
func step(e int32) int32 {
	if e == math.MaxInt32 {
		return 1
	}
	return e + 1
}

// changed reports whether a partition's answer says something that the client does not know.
func (r *reading) changed(p *answeredPartition) bool {
	return len(p.Records) > 0 || p.ErrorCode != 0 || p.DivergingEpoch.EndOffset >= 0 ||
		r.told != told{p.HighWatermark, p.LastStableOffset, p.LogStartOffset}
}

// answered remembers what the client now knows, and moves what it got records of to the end: with limits that one
// partition alone fills, the others' turn comes first next time. s.mu is held, or nobody else has s.
func (s *fetchSession) answered(results []result) {
	moved := false
	for i, r := range s.readings {
		r.told = results[i].told
		moved = moved || results[i].records
	}
	if !moved {
		return
	}
	order := make([]*reading, 0, len(s.readings))
	for _, withRecords := range []bool{false, true} {
		for i, r := range s.readings {
			if results[i].records == withRecords {
				order = append(order, r)
			}
		}
	}
	s.readings = order
}

// result is what one reading came to in one attempt at an answer.
type result struct {
	told    told
	records bool
}

func resultOf(p *answeredPartition) result {
	if p.ErrorCode != 0 || p.DivergingEpoch.EndOffset >= 0 {
		return result{told: toldNothing}
	}
	return result{told{p.HighWatermark, p.LastStableOffset, p.LogStartOffset}, len(p.Records) > 0}
}

// begin finds out what a fetch reads and in which session, when its turn has come: fetches of one connection follow
// each other, and each finds the session as the one before it left it.
func (q *fetch) begin() perr.Code {
	r := q.req
	if r.Version < 7 || q.mirror != nil || r.SessionEpoch == 0 || r.SessionEpoch == -1 {
		if r.Version >= 7 && r.SessionId != 0 {
			q.front.sessions.endOf(r.SessionId, q.from.Principal)
		}
		q.readings = readingsOf(r)
		return perr.None
	}
	s := q.front.sessions.find(r.SessionId)
	if s == nil || s.owner != q.from.Principal {
		return perr.FetchSessionIdNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.epoch != r.SessionEpoch:
		return perr.InvalidFetchSessionEpoch
	case s.byID != (r.Version >= 13):
		return perr.FetchSessionTopicIdError
	}
	s.update(r)
	s.epoch = step(s.epoch)
	q.readings, q.epoch = s.readings, s.epoch
	switch {
	case len(s.readings) == 0:
		q.front.sessions.end(s.id)
	case !namesFit(r) || !q.front.sessions.use(s, len(s.readings)):
		q.front.sessions.end(s.id)
		return perr.FetchSessionIdNotFound // the client goes on with full fetches
	default:
		q.session = s
	}
	return perr.None
}

// opens reports whether the answer of this fetch begins a session: the client asks for one, and it is no mirror, which
// reads as much as there is each time.
func (q *fetch) opens() bool {
	return q.req.Version >= 7 && q.mirror == nil && q.session == nil && q.req.SessionEpoch == 0 && len(q.readings) > 0 && namesFit(q.req)
}

// namesFit says that no name is longer than a topic's may be: a session must not keep what cannot exist.
func namesFit(r *messages.FetchRequest) bool {
	for i := range r.Topics {
		if len(r.Topics[i].Topic) > maxTopicName {
			return false
		}
	}
	return true
}

// maxTopicName is the most bytes that a topic's name has.
const maxTopicName = 249
