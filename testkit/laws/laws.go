// Package laws checks what every machine owes its drivers, on any script of commands.
package laws

import (
	"bytes"
	"reflect"
	"testing"

	"lockstep/actors/core"
)

// Step is one command and the instant it is decided at.
type Step[C any] struct {
	Now core.Now
	Cmd C
}

// Check runs a script and demands: Decide changes nothing and is deterministic; a durable event survives
// its encoding; replay of the journal gives the live hard state, twice the same, and from a snapshot at
// any point as well. It returns the final state.
func Check[S, C, E, F any](t testing.TB, m core.Machine[S, C, E, F], id string, script []Step[C]) *S {
	t.Helper()
	live, shadow := m.Init(id), m.Init(id)
	var entries []core.Entry
	type cut struct {
		at    int
		state []byte
	}
	cuts := []cut{{0, m.Snapshot(live)}}
	for i, step := range script {
		first := m.Decide(live, step.Now, step.Cmd)
		if !reflect.DeepEqual(live, shadow) {
			t.Fatalf("%s: step %d (%T): Decide changed the state", m.Name, i, step.Cmd)
		}
		if second := m.Decide(live, step.Now, step.Cmd); !reflect.DeepEqual(first, second) {
			t.Fatalf("%s: step %d (%T): Decide gave two answers:\n%+v\n%+v", m.Name, i, step.Cmd, first, second)
		}
		for _, ev := range first.Events {
			m.Apply(live, ev)
			m.Apply(shadow, ev)
			entry, durable := m.Encode(ev)
			if !durable {
				continue
			}
			back, err := m.Decode(entry)
			if err != nil {
				t.Fatalf("%s: step %d: %T does not decode: %v", m.Name, i, ev, err)
			}
			if !reflect.DeepEqual(any(back), any(ev)) {
				t.Fatalf("%s: step %d: %T changed on its way through the journal:\n%+v\n%+v", m.Name, i, ev, ev, back)
			}
			entries = append(entries, entry)
		}
		cuts = append(cuts, cut{len(entries), m.Snapshot(live)})
	}
	want := m.Snapshot(live)
	for _, c := range append(cuts, cuts[0]) {
		s, err := m.Restore(id, c.state)
		if err != nil {
			t.Fatalf("%s: snapshot after %d entries does not restore: %v", m.Name, c.at, err)
		}
		if c.at == 0 {
			s = m.Init(id)
		}
		for _, entry := range entries[c.at:] {
			ev, err := m.Decode(entry)
			if err != nil {
				t.Fatalf("%s: replay: %v", m.Name, err)
			}
			m.Apply(s, ev)
		}
		if got := m.Snapshot(s); !bytes.Equal(got, want) {
			t.Fatalf("%s: replay from %d of %d entries gives another hard state", m.Name, c.at, len(entries))
		}
	}
	return live
}
