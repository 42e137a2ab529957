package registration

import (
	"bytes"
	"reflect"
	"testing"

	"lockstep/actors/core"
	"lockstep/testkit/laws"
)

// ledger drives the machine as the shell does and holds it to the laws of every machine at each step.
type ledger struct {
	t       *testing.T
	s       *State
	now     core.Now
	journal []core.Entry
	script  []laws.Step[Command]
	effects []Effect // of the newest command: early, then late
	early   []Effect
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, s: Machine().Init("src"), now: core.Now{Mono: 1e9, Wall: 1e12}}
}

func (l *ledger) do(cmd Command) []Effect {
	l.t.Helper()
	m := Machine()
	l.script = append(l.script, laws.Step[Command]{Now: l.now, Cmd: cmd})
	before := l.s.after(nil)
	out := m.Decide(l.s, l.now, cmd)
	if !reflect.DeepEqual(before, l.s) {
		l.t.Fatalf("Decide(%#v) changed the state", cmd)
	}
	for _, ev := range out.Events {
		if entry, durable := m.Encode(ev); durable {
			back, err := m.Decode(entry)
			if err != nil || !reflect.DeepEqual(back, ev) {
				l.t.Fatalf("Decode(Encode(%#v)) = %#v, %v", ev, back, err)
			}
			l.journal = append(l.journal, entry)
		}
		m.Apply(l.s, ev)
	}
	l.early = out.Early
	l.effects = append(append([]Effect{}, out.Early...), out.Late...)
	return l.effects
}

// restart forgets soft state and everything said; the ledger comes back from its journal, once from its
// beginning and once from a snapshot in the middle.
func (l *ledger) restart() {
	l.t.Helper()
	m := Machine()
	full, half := m.Init("src"), m.Init("src")
	for i, entry := range l.journal {
		ev, err := m.Decode(entry)
		if err != nil {
			l.t.Fatal(err)
		}
		m.Apply(full, ev)
		m.Apply(half, ev)
		if i == len(l.journal)/2 {
			if half, err = m.Restore("src", m.Snapshot(half)); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	if !bytes.Equal(m.Snapshot(full), m.Snapshot(half)) || !bytes.Equal(m.Snapshot(full), m.Snapshot(l.s)) {
		l.t.Fatal("replay, snapshot with tail, and the live state differ")
	}
	l.s = full
}

var (
	dst    = core.MirrorKey{Cluster: "dst", Mirror: "m"}
	topicA = core.TopicID{1}
	topicB = core.TopicID{2}
	data1  = core.Incarnation{1}
	data2  = core.Incarnation{2}
)

func source(name string) Source { return Source{Known: true, Name: name, Partitions: 2} }

func register(g core.Generation, echo core.ReleaseNumber) RegisterTopic {
	return RegisterTopic{
		Key: dst, Topic: topicA, Name: "a", Generation: g, Echo: echo, Recovery: echo != 0,
		Incarnation: data1, MinISR: 2, Path: []core.ClusterID{"dst"}, CanGate: true, Source: source("a"),
	}
}

func unregister(g core.Generation) UnregisterTopic {
	return UnregisterTopic{Key: dst, Topic: topicA, Name: "a", Generation: g, Source: source("a")}
}

func (l *ledger) register(c RegisterTopic) RegisterAnswered {
	l.t.Helper()
	return last[RegisterAnswered](l.t, l.do(c))
}

func (l *ledger) unregister(c UnregisterTopic) UnregisterAnswered {
	l.t.Helper()
	return last[UnregisterAnswered](l.t, l.do(c))
}

func (l *ledger) release(topics ...core.TopicID) ReleaseAnswered {
	l.t.Helper()
	return last[ReleaseAnswered](l.t, l.do(ReleaseMirror{Mirror: "m", Topics: topics}))
}

// gates is how many mirrors the topic waits for.
func (l *ledger) gates(topic core.TopicID) int { return len(l.s.registrations()[topic].Gates) }

func last[E any](t *testing.T, effects []Effect) E {
	t.Helper()
	for i := len(effects) - 1; i >= 0; i-- {
		if e, ok := effects[i].(E); ok {
			return e
		}
	}
	var none E
	t.Fatalf("no %T in %#v", none, effects)
	return none
}

func has[E any](effects []Effect) bool {
	for _, e := range effects {
		if _, ok := e.(E); ok {
			return true
		}
	}
	return false
}

func position[E any](effects []Effect) int {
	for i, e := range effects {
		if _, ok := e.(E); ok {
			return i
		}
	}
	return -1
}
