package front

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Fetch v4–20. v5 brings the log start, v7 sessions (see fetch_session.go; mirrors have none), v9 leader epochs, v10 zstd, v11 racks, v12 is flexible and brings divergence, v13 topic ids, v16 node
// endpoints, v19 and v20 are mirroring's: see mirror_fetch.go.
//
// A fetch is parked in every partition it asks for and looks again when one of them moves, when its
// time is over, and first of all when it is its turn in the order of the connection. It reads on the
// connection's writer goroutine, never through a partition actor's mailbox.

// fetch is one request on its way.
type fetch struct {
	front  *Front
	slot   *Slot
	from   Client
	req    *messages.FetchRequest
	mirror *mirrorFetch // nil for everybody but mirrors
	late   time.Time
	grace  time.Time // until when an empty answer waits for what was acknowledged before it
	timer  *time.Timer

	// Written when the first attempt begins.
	begun    bool
	readings []*reading    // of the session, if there is one: its order holds as long as epoch does
	session  *fetchSession // nil for a fetch that continues none
	epoch    int32         // of the session's next request

	mu     sync.Mutex
	parked map[place]parked
	failed map[place]perr.Code // partitions whose actor went away while we waited in it
	over   bool
}

// place is one partition of the fetch: its index among the readings.
type place int

// parked is where a fetch waits. ref is 0 until the partition's actor has been asked.
type parked struct {
	replica *broker.Replica
	ref     core.RequestID
}

func (f *Front) fetch(r *messages.FetchRequest, from Client, slot *Slot) {
	code := judgeMirrorSession(r)
	if reportsFloors(r) && !f.mayCluster(from, access.ClusterAction) && reportersActForTheCluster {
		code = perr.ClusterAuthorizationFailed
	}
	if code != perr.None {
		slot.Reply(refusedFetch(r, code, 0))
		return
	}
	q := &fetch{front: f, slot: slot, from: from, req: r, parked: map[place]parked{}, failed: map[place]perr.Code{},
		late: time.Now().Add(time.Duration(max(r.MaxWaitMs, 0)) * time.Millisecond), grace: time.Now().Add(showGrace)}
	// A report counts when it arrives, not when the answer's turn comes: acks may hang on it.
	q.mirror = f.takeReports(r, from)
	slot.unmuted = q.mirror.gates()
	if q.mirror.reportsAgain() {
		q.late = sooner(q.late, time.Now().Add(listWait))
	}
	slot.OnClose(q.end)
	slot.Turn(q.attempt)
}

// judgeMirrorSession: mirrors are given no session, so none of theirs is known.
func judgeMirrorSession(r *messages.FetchRequest) perr.Code {
	if r.Version >= 20 && (r.SessionId != 0 || r.SessionEpoch > 0) {
		return perr.FetchSessionIdNotFound
	}
	return perr.None
}

// refusedFetch answers a whole fetch with an error.
func refusedFetch(r *messages.FetchRequest, code perr.Code, session int32) kmsg.Response {
	resp := r.ResponseKind().(*messages.FetchResponse)
	resp.ErrorCode, resp.SessionId = int16(code), session
	return resp
}

// attempt reads what there is. It answers if that is enough, or an error cannot wait, or the time is
// over (compat-F04); else it makes sure of being woken.
func (q *fetch) attempt() (kmsg.Response, bool) {
	if !q.begun {
		q.begun = true
		if code := q.begin(); code != perr.None {
			q.end()
			return refusedFetch(q.req, code, 0), true
		}
	}
	if s := q.session; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.epoch != q.epoch { // it was continued on another connection
			q.end()
			return refusedFetch(q.req, perr.InvalidFetchSessionEpoch, s.id), true
		}
	}
	a := answer{fetch: q, budget: min(int(q.req.MaxBytes), q.front.maxFetch), img: q.front.broker.Image()}
	if !q.slot.unmuted {
		a.budget = q.front.quotas.fetchBudget(a.img, q.from.taker(), a.budget)
	}
	q.takeRoom(&a)
	limit := a.budget
	a.compose()
	until := q.late
	if a.coming && a.bytes == 0 && q.grace.After(until) {
		until = q.grace
	} else if a.enough(limit) {
		until = time.Time{}
	}
	if a.urgent || !time.Now().Before(until) {
		q.end()
		a.settle()
		q.hold(a.bytes)
		q.front.traffic.fetched(a.resp, a.topicID, q.mirror != nil)
		return a.resp, true
	}
	q.hold(0)
	q.park(a.watches, until)
	return nil, false
}

// takeRoom charges an answer for as much as it may have, which is less while many others are on their way. On what a mirror
// that gates is answered acks hang, and there are few.
func (q *fetch) takeRoom(a *answer) {
	if q.slot.unmuted || a.budget <= 0 {
		return
	}
	asked := int64(0) // of all partitions: consumers of a few ask for no more than these may have
	for _, r := range q.readings {
		asked += int64(max(r.asked.PartitionMaxBytes, 0))
	}
	q.slot.answer = q.front.memory.answers.Grant(answerCopies*min(asked, int64(a.budget)), answerCopies*leastAnswer)
	if granted := int(q.slot.answer / answerCopies); int64(granted) < asked {
		a.budget = min(a.budget, granted)
	}
}

// hold corrects the charge to that of n bytes of records; what is left is given back when the answer is written.
func (q *fetch) hold(n int) {
	if q.slot.unmuted {
		return
	}
	held := int64(answerCopies * n)
	q.front.memory.answers.Give(q.slot.answer - held)
	q.slot.answer = held
}

// watch is what a partition must pass for the fetch to look again.
type watch struct {
	place   place
	replica *broker.Replica
	until   partition.Position
	beyond  core.Offset
}

// park waits in every partition that is not waited in yet. A position that moved since it was read
// wakes at once, because the partition compares with what was seen here.
func (q *fetch) park(watches []watch, until time.Time) {
	for _, w := range watches {
		if !q.claim(w) {
			continue
		}
		ref := w.replica.Ask(func(ref core.RequestID) partition.Command {
			return partition.ParkFetch{Ref: ref, Until: w.until, Beyond: w.beyond}
		}, func(reply any) { q.woken(w.place, reply) })
		q.mu.Lock()
		_, waiting := q.parked[w.place] // not if the wake-up overtook us
		if waiting {
			q.parked[w.place] = parked{w.replica, ref}
		}
		over := q.over
		q.mu.Unlock()
		if over {
			w.replica.Unpark(ref)
			return
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.over:
	case q.timer == nil:
		q.timer = time.AfterFunc(time.Until(until), q.slot.Look)
	default:
		q.timer.Reset(time.Until(until))
	}
}

func (q *fetch) claim(w watch) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, waiting := q.parked[w.place]; waiting || q.over {
		return false
	}
	q.parked[w.place] = parked{replica: w.replica}
	return true
}

// woken runs on a partition actor's goroutine, or on ours when that actor is gone. A failure is the
// partition's answer: waiting again would fail again, as fast as the machine can.
func (q *fetch) woken(at place, reply any) {
	q.mu.Lock()
	delete(q.parked, at)
	if gone, ok := reply.(shell.Failed); ok {
		q.failed[at] = gone.Code
	}
	q.mu.Unlock()
	q.slot.Look()
}

func (q *fetch) failure(at place) perr.Code {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed[at]
}

// end forgets whatever still waits. It runs when the answer is composed, or when nobody wants it.
func (q *fetch) end() {
	q.mu.Lock()
	if q.over {
		q.mu.Unlock()
		return
	}
	q.over = true
	waiting := q.parked
	q.parked = nil
	if q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	for _, p := range waiting {
		if p.ref != 0 {
			p.replica.Unpark(p.ref)
		}
	}
}
