package laws

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"lockstep/actors/core"
)

// The machine is a counter: add is durable, and peeks, which counts questions, is soft.
type (
	counter struct{ total, peeks int64 }
	add     struct{ n int64 }
	event   struct {
		n    int64
		peek bool
	}
)

type counterMachine = core.Machine[counter, add, event, struct{}]

func sound() counterMachine {
	return counterMachine{
		Name: "counter",
		Init: func(string) *counter { return &counter{} },
		Decide: func(_ *counter, _ core.Now, c add) core.Outcome[event, struct{}] {
			return core.Outcome[event, struct{}]{Events: []event{{n: c.n}, {peek: true}}}
		},
		Apply: func(s *counter, e event) {
			s.total += e.n
			if e.peek {
				s.peeks++
			}
		},
		Encode: func(e event) (core.Entry, bool) {
			return core.Entry{Kind: core.EntryEvent, Payload: binary.AppendVarint(nil, e.n)}, !e.peek
		},
		Decode: func(entry core.Entry) (event, error) {
			n, used := binary.Varint(entry.Payload)
			if used != len(entry.Payload) {
				return event{}, errors.New("no counter event")
			}
			return event{n: n}, nil
		},
		Snapshot: func(s *counter) []byte { return binary.AppendVarint(nil, s.total) },
		Restore: func(_ string, b []byte) (*counter, error) {
			n, _ := binary.Varint(b)
			return &counter{total: n}, nil
		},
	}
}

// court records the verdict instead of failing the test that asks for it.
type court struct {
	testing.TB
	verdict string
}

func (*court) Helper() {}

func (c *court) Fatalf(format string, args ...any) {
	c.verdict = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func judge(m counterMachine) string {
	c := &court{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Check(c, m, "counter", []Step[add]{{Cmd: add{1}}, {Cmd: add{2}}, {Cmd: add{3}}})
	}()
	<-done
	return c.verdict
}

func TestASoundMachineKeepsEveryLaw(t *testing.T) {
	if verdict := judge(sound()); verdict != "" {
		t.Error(verdict)
	}
	if s := Check(t, sound(), "counter", []Step[add]{{Cmd: add{40}}, {Cmd: add{2}}}); s.total != 42 {
		t.Errorf("the final state holds %d, want 42", s.total)
	}
}

func TestEveryLawCatchesTheMachineThatBreaksIt(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*counterMachine)
		want string
	}{
		"Decide that changes the state": {func(m *counterMachine) {
			whole := m.Decide
			m.Decide = func(s *counter, now core.Now, c add) core.Outcome[event, struct{}] {
				s.peeks++
				return whole(s, now, c)
			}
		}, "Decide changed the state"},
		"Decide that remembers outside its state": {func(m *counterMachine) {
			asked := int64(0)
			m.Decide = func(*counter, core.Now, add) core.Outcome[event, struct{}] {
				asked++
				return core.Outcome[event, struct{}]{Events: []event{{n: asked}}}
			}
		}, "Decide gave two answers"},
		"Decode that does not know what Encode wrote": {func(m *counterMachine) {
			m.Decode = func(core.Entry) (event, error) { return event{}, errors.New("unknown message id 7") }
		}, "does not decode: unknown message id 7"},
		"Encode that loses a field": {func(m *counterMachine) {
			m.Encode = func(e event) (core.Entry, bool) {
				return core.Entry{Kind: core.EntryEvent, Payload: binary.AppendVarint(nil, e.n&1)}, !e.peek
			}
		}, "changed on its way through the journal"},
		"snapshot that does not restore": {func(m *counterMachine) {
			m.Restore = func(string, []byte) (*counter, error) { return nil, errors.New("snapshot of version 9") }
		}, "does not restore: snapshot of version 9"},
		"Restore that forgets hard state": {func(m *counterMachine) {
			m.Restore = func(string, []byte) (*counter, error) { return &counter{}, nil }
		}, "gives another hard state"},
		"hard state that hangs on a volatile event": {func(m *counterMachine) {
			whole := m.Apply
			m.Apply = func(s *counter, e event) {
				if whole(s, e); e.peek {
					s.total++
				}
			}
		}, "gives another hard state"},
		"Apply that is another function at replay": {func(m *counterMachine) {
			applied := int64(0)
			m.Apply = func(s *counter, e event) {
				if applied++; applied > 12 { // 3 commands of 2 events, live and shadow
					e.n *= 2
				}
				s.total += e.n
			}
		}, "gives another hard state"},
	} {
		m := sound()
		c.harm(&m)
		if verdict := judge(m); !strings.Contains(verdict, c.want) {
			t.Errorf("%s: the verdict is %q, want %q", name, verdict, c.want)
		}
	}
}
