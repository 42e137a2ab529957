package transaction

import (
	"reflect"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// world drives a shard as the shell does, with a clock of its own, and keeps what a journal would keep.
type world struct {
	t        *testing.T
	s        *State
	now      int64 // ms
	timers   []int64
	entries  []core.Entry
	ref      core.RequestID
	fresh    int64
	settings Settings
	markers  []Effect // orders that are not answered yet
	replies  map[core.RequestID]Effect
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, s: Machine().Init(""), now: 1000, fresh: 100, settings: DefaultSettings(), replies: map[core.RequestID]Effect{}}
	w.do(Resume{Settings: w.settings})
	return w
}

func (w *world) do(cmd Command) {
	w.t.Helper()
	before := w.s.snapshot()
	live := map[string]*live{}
	for id, l := range w.s.live {
		live[id] = l.clone()
	}
	out := Machine().Decide(w.s, core.Now{Mono: w.now * ms, Wall: w.now}, cmd)
	if !slices.Equal(before, w.s.snapshot()) || !reflect.DeepEqual(live, w.s.live) {
		w.t.Fatalf("deciding %#v changed the state", cmd)
	}
	for _, ev := range out.Events {
		if entry, durable := Machine().Encode(ev); durable {
			w.entries = append(w.entries, entry)
		}
		Machine().Apply(w.s, ev)
	}
	for _, e := range out.Early {
		timer, ok := e.(ArmTimer)
		if !ok {
			w.t.Fatalf("%T leaves before what it says is durable", e) // D25
		}
		w.timers = append(w.timers, timer.At)
	}
	for _, e := range out.Late {
		switch e := e.(type) {
		case WriteMarker, EndOffsets:
			w.markers = append(w.markers, e)
		case core.Reply:
			if w.replies[e.ReplyTo()] != nil {
				w.t.Fatalf("request %d is answered twice", e.ReplyTo())
			}
			w.replies[e.ReplyTo()] = e.(Effect)
		default:
			w.t.Fatalf("unexpected %T", e)
		}
	}
	for id, r := range w.s.txns {
		l := w.s.live[id]
		if has := w.s.open[id]; (has != nil) != (r.phase() == Ongoing) || has != nil && (len(has) != len(r.targets()) ||
			slices.ContainsFunc(r.targets(), func(t Target) bool { return !has[t] })) {
			w.t.Fatalf("%s is %s in %v, found in %v", id, r.phase(), r.targets(), has)
		}
		if at := l.earliest(); at != 0 && (w.s.armed == 0 || w.s.armed > at) {
			w.t.Fatalf("%s is due at %d, the timer is armed for %d", id, at, w.s.armed)
		}
		if r.phase().prepared() && len(l.due) == 0 {
			w.t.Fatalf("%s is prepared and nothing is due", id)
		}
		if !r.phase().prepared() && len(l.waiters)+len(l.due) > 0 {
			w.t.Fatalf("%s is %s, yet somebody waits", id, r.phase())
		}
	}
}

// wait lets time pass and delivers ticks at the instants that were asked for.
func (w *world) wait(millis int64) {
	for until := w.now + millis; ; {
		slices.Sort(w.timers)
		if len(w.timers) == 0 || w.timers[0] > until*ms {
			w.now = until
			return
		}
		w.now = max(w.now, (w.timers[0]+ms-1)/ms)
		w.timers = w.timers[1:]
		w.do(Tick{})
	}
}

// restart is a new process: what is soft is gone, and answers on their way too.
func (w *world) restart() {
	w.t.Helper()
	lived := w.s.snapshot()
	s := Machine().Init("")
	for _, e := range w.entries {
		ev, err := Machine().Decode(e)
		if err != nil {
			w.t.Fatal(err)
		}
		Machine().Apply(s, ev)
	}
	back, err := Machine().Restore("", lived)
	if err != nil || !slices.Equal(s.snapshot(), lived) || !slices.Equal(back.snapshot(), lived) || back.kept != s.kept {
		w.t.Fatalf("what comes back is not what was lived (%v)", err)
	}
	w.s, w.timers, w.markers = s, nil, nil
	w.do(Resume{Settings: w.settings})
}

// settle answers every order, also those that the answers lead to.
func (w *world) settle(o MarkerOutcome) {
	orders := w.markers
	w.markers = nil
	for _, e := range orders {
		w.do(answerTo(e, o))
	}
}

func answerTo(e Effect, o MarkerOutcome) MarkerAnswered {
	switch e := e.(type) {
	case WriteMarker:
		return MarkerAnswered{ID: e.ID, ProducerID: e.ProducerID, Epoch: e.Epoch, Target: Target{Partition: e.Partition}, Outcome: o}
	case EndOffsets:
		return MarkerAnswered{ID: e.ID, ProducerID: e.ProducerID, Epoch: e.Epoch, Target: Target{Group: e.Group}, Outcome: o}
	default:
		panic("no order")
	}
}

func (w *world) next() core.RequestID { w.ref++; w.fresh++; return w.ref }

// producer is what a client knows of itself.
type producer struct {
	id    string
	pid   int64
	epoch int16
}

func reply[T Effect](w *world, ref core.RequestID) (answer T, ok bool) {
	answer, ok = w.replies[ref].(T)
	return answer, ok
}

func (w *world) init(id string) producer {
	w.t.Helper()
	ref := w.next()
	w.do(InitProducerID{Ref: ref, ID: id, Fresh: w.fresh, TimeoutMs: 60_000, ExpectedID: -1, ExpectedEpoch: -1})
	for range 3 { // what an earlier producer has open ends first
		if a, ok := reply[Initialized](w, ref); ok {
			if a.Code != 0 {
				w.t.Fatalf("init of %s: %v %s", id, a.Code, a.Text)
			}
			return producer{id, a.ProducerID, a.Epoch}
		}
		w.settle(MarkerCommitted)
	}
	w.t.Fatalf("init of %s is not answered", id)
	return producer{}
}

func (w *world) reinit(p producer) (producer, perr.Code) {
	w.t.Helper()
	ref := w.next()
	w.do(InitProducerID{Ref: ref, ID: p.id, Fresh: w.fresh, TimeoutMs: 60_000, ExpectedID: p.pid, ExpectedEpoch: p.epoch})
	a, ok := reply[Initialized](w, ref)
	if !ok {
		w.t.Fatal("not answered")
	}
	return producer{p.id, a.ProducerID, a.Epoch}, a.Code
}

func part(topic byte, index int32) PartitionRecord {
	return PartitionRecord{Topic: core.TopicID{topic}, Name: string('a' + rune(topic)), Partition: index}
}

func (w *world) add(p producer, parts ...PartitionRecord) perr.Code {
	w.t.Helper()
	ref := w.next()
	w.do(AddPartitions{Ref: ref, ID: p.id, ProducerID: p.pid, Epoch: p.epoch, Partitions: parts})
	a, ok := reply[PartitionsAnswered](w, ref)
	if !ok {
		w.t.Fatal("not answered")
	}
	return a.Code
}

func (w *world) end(p producer, commit, bump bool) core.RequestID {
	ref := w.next()
	w.do(EndTxn{Ref: ref, ID: p.id, ProducerID: p.pid, Epoch: p.epoch, Commit: commit, Bump: bump, Fresh: w.fresh})
	return ref
}

// code is what a request was answered with; -99: not yet.
func (w *world) code(ref core.RequestID) perr.Code {
	if a, ok := reply[Ended](w, ref); ok {
		return a.Code
	}
	if a, ok := reply[Initialized](w, ref); ok {
		return a.Code
	}
	return -99
}

func (w *world) phase(id string) Phase { return w.s.txns[id].phase() }
