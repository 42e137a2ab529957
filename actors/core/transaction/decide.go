package transaction

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

type outcome = core.Outcome[Event, Effect]

func decide(s *State, now core.Now, cmd Command) outcome {
	switch c := cmd.(type) {
	case Resume:
		return s.resume(c, now)
	case InitProducerID:
		return s.turn(c.ID, now, func(t *turn) { t.init(c) })
	case AddPartitions:
		return s.turn(c.ID, now, func(t *turn) { t.add(c) })
	case EndTxn:
		return s.turn(c.ID, now, func(t *turn) { t.endTxn(c) })
	case MarkerAnswered:
		return s.markerAnswered(c, now)
	case AbortOpen:
		return s.abortOpen(c, now)
	case DescribeTransaction:
		return s.describe(c)
	case ListTransactions:
		return s.list(c, now)
	case Tick:
		return s.tick(now)
	default:
		panic("transaction: unknown command")
	}
}

// turn is one decision about one transactional id: it works on copies. What is live becomes one volatile event, after
// the durable ones that it led to.
type turn struct {
	*live
	s      *State
	id     string
	record *TransactionRecord // nil: not known
	now    core.Now
	out    outcome
}

func (s *State) turn(id string, now core.Now, do func(*turn)) outcome {
	t := s.begin(id, now)
	do(t)
	t.finish()
	s.arm(&t.out, t.earliest())
	return t.out
}

func (s *State) begin(id string, now core.Now) *turn {
	return &turn{live: s.current(id, now.Mono), s: s, id: id, record: s.txns[id], now: now}
}

// finish asks for what is due and closes the turn.
func (t *turn) finish() {
	t.send()
	if t.record == nil {
		t.live = &live{}
		if t.s.live[t.id] != nil {
			t.out.Events = append(t.out.Events, LiveChanged{ID: t.id})
		}
		return
	}
	t.out.Events = append(t.out.Events, LiveChanged{ID: t.id, live: t.live})
}

// happen notes a durable event.
func (t *turn) happen(ev DurableEvent) {
	t.record = t.record.after(ev)
	if _, gone := ev.(TransactionalIDExpired); gone {
		t.record = nil
	}
	t.out.Events = append(t.out.Events, ev)
}

func (t *turn) reply(e Effect) { answer(&t.out, e) }

func answer(out *outcome, e Effect) {
	if answerOnlyDurable {
		out.Late = append(out.Late, e)
	} else {
		out.Early = append(out.Early, e)
	}
}

// arm asks for a Tick unless an earlier one is already on its way, which will look again.
func (s *State) arm(out *outcome, at int64) {
	if at == 0 || s.armed != 0 && s.armed <= at {
		return
	}
	out.Events = append(out.Events, TimerArmed{At: at})
	out.Early = append(out.Early, ArmTimer{At: at})
}

// join adds what was decided about one id to what is decided about many. It returns the earlier of first and of when this
// id is due; 0 is never.
func (t *turn) join(out *outcome, first int64) int64 {
	out.Events = append(out.Events, t.out.Events...)
	out.Late = append(out.Late, t.out.Late...)
	if at := t.earliest(); at != 0 && (first == 0 || at < first) {
		return at
	}
	return first
}

func (s *State) resume(c Resume, now core.Now) outcome {
	out := outcome{Events: []Event{SettingsChanged(c)}}
	first := int64(0)
	for _, id := range s.ids() {
		if s.live[id] != nil {
			continue
		}
		t := s.begin(id, now)
		t.finish()
		first = t.join(&out, first)
	}
	s.arm(&out, first)
	return out
}

// tick looks at every id that is due and arms the next look.
func (s *State) tick(now core.Now) outcome {
	var out outcome
	first := int64(0)
	for _, id := range s.ids() {
		l := s.live[id]
		if l == nil {
			continue
		}
		if at := l.earliest(); at != 0 && at <= now.Mono {
			t := s.begin(id, now)
			t.expire()
			t.finish()
			l = t.live
			out.Events = append(out.Events, t.out.Events...)
			out.Early = append(out.Early, t.out.Early...)
			out.Late = append(out.Late, t.out.Late...)
		}
		if at := l.earliest(); at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	switch {
	case first != 0 && (s.armed <= now.Mono || first < s.armed):
		out.Events = append(out.Events, TimerArmed{At: first})
		out.Early = append(out.Early, ArmTimer{At: first})
	case first == 0 && s.armed <= now.Mono && s.armed != 0:
		out.Events = append(out.Events, TimerArmed{})
	}
	return out
}

// expire does what time has brought for one id.
func (t *turn) expire() {
	now := t.now.Mono
	if t.deadline != 0 && t.deadline <= now {
		t.fence()
	}
	for i := 0; i < len(t.waiters); i++ {
		if w := t.waiters[i]; w.until <= now {
			t.waiters = slices.Delete(t.waiters, i, i+1)
			i--
			t.tell(w, perr.ConcurrentTransactions, "the transaction is decided and has not ended everywhere yet")
		}
	}
	if t.expires != 0 && t.expires <= now {
		t.happen(TransactionalIDExpired{ID: t.id})
	}
}

// tell answers a waiter with an error.
func (t *turn) tell(w waiter, code perr.Code, text string) {
	if w.end != nil {
		t.reply(Ended{Ref: w.end.Ref, Code: code, Text: text, ProducerID: -1, Epoch: -1})
	} else {
		t.reply(Initialized{Ref: w.init.Ref, Code: code, Text: text, ProducerID: -1, Epoch: -1})
	}
}

// used is called whenever a producer did something under the id.
func (t *turn) used() {
	t.expires = 0
	if p := t.record.phase(); p != Ongoing && !p.prepared() {
		t.expires = t.now.Mono + t.s.settings.ExpirationMs*ms
	}
}
