package volume

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/memory"
)

// scriptStreams are what a script writes: two partitions, evidence, and a control stream.
var scriptStreams = []journal.Stream{"partition/a/0/1", "partition/b/0/1", "ledger/a/0", "control/facts"}

// step is one call of a script: visible in what a journal hands out afterwards, whatever it is.
type step struct {
	stream journal.Stream
	name   string
	call   func(j journal.Volume, done journal.Done)
	bases  []core.Offset // of the stream behind it
	next   core.Offset
}

// script draws steps that depend on its seed and on the steps before only, so that a child process and its
// parent agree on them.
type script struct {
	streams map[journal.Stream]step // the newest of each
	n       int
}

func newScript() *script { return &script{streams: map[journal.Stream]step{}} }

// clone goes on apart from c.
func (c *script) clone() *script { return &script{maps.Clone(c.streams), c.n} }

// went makes s the newest step of its stream.
func (c *script) went(s step) {
	c.streams[s.stream] = s
	c.n++
}

func (c *script) draw(r *rand.Rand) step {
	s := scriptStreams[r.IntN(len(scriptStreams))]
	before := c.streams[s]
	st := step{stream: s, bases: before.bases, next: before.next}
	add := func(name string, entries ...core.Entry) step {
		st.name = fmt.Sprint(name, " ", s)
		st.call = func(j journal.Volume, done journal.Done) { j.Append(s, entries, done) }
		return st
	}
	label := fmt.Sprint("step ", c.n)
	switch k := r.IntN(20); {
	case s == "ledger/a/0" || s == "control/facts":
		if k == 0 && before.next > 0 {
			st.next, st.name = 0, fmt.Sprint("drop ", s)
			st.call = func(j journal.Volume, done journal.Done) { j.Drop(s, done) }
			return st
		}
		st.next++
		if k < 4 {
			break
		}
		return add("event", journaltest.Event(label), journaltest.Event(label+" too"))
	case k < 12 || len(st.bases) < 4:
		base := st.next
		last := base + core.Offset(r.IntN(4))
		st.next = last + 1
		st.bases = append(slices.Clone(st.bases), base)
		return add(fmt.Sprintf("batch %d-%d", base, last), journaltest.Batch(base, last, 100+r.IntN(1500)), journaltest.Event(label))
	case k < 14:
		i := len(st.bases) - 1 - r.IntN(2)
		st.next, st.bases = st.bases[i], st.bases[:i]
		return add(fmt.Sprint("truncate ", st.next), journaltest.Truncate(st.next))
	case k < 17:
		return add(fmt.Sprint("trim ", st.bases[len(st.bases)-2]), journaltest.Trim(st.bases[len(st.bases)-2]))
	case k == 17:
		st.bases, st.next, st.name = nil, 0, fmt.Sprint("drop ", s)
		st.call = func(j journal.Volume, done journal.Done) { j.Drop(s, done) }
		return st
	}
	st.name = fmt.Sprint("snapshot ", s)
	st.call = func(j journal.Volume, done journal.Done) { j.Snapshot(s, []byte(label), done) }
	return st
}

// told is one volume with the twin that holds what it holds for certain, and what it was told since.
type told struct {
	script *script // of what is in the twin
	twin   *memory.Journal
	steps  []step
	mu     sync.Mutex
	acked  int // of steps
}

func newTold() *told { return &told{script: newScript(), twin: memory.New(memory.Options{})} }

const scriptInFlight = 6

// run tells v up to n steps, until one fails; acked is called for each that is durable, in order.
func (m *told) run(v *Volume, r *rand.Rand, n int, acked func(int)) {
	ahead := m.script.clone()
	window := make(chan struct{}, scriptInFlight)
	for range n {
		window <- struct{}{}
		if v.Err() != nil {
			<-window
			break
		}
		st := ahead.draw(r)
		ahead.went(st)
		m.steps = append(m.steps, st)
		i := len(m.steps)
		st.call(v, func(_ journal.Seq, err error) {
			if err == nil {
				m.mu.Lock()
				m.acked = i
				m.mu.Unlock()
				acked(i)
			}
			<-window
		})
	}
	for len(window) > 0 { // those in flight answer, also after the power is gone
		runtime.Gosched()
	}
}

// settle finds the prefix of the steps that v holds: at least what was acknowledged. The twin is that
// prefix afterwards.
func (m *told) settle(t *testing.T, v *Volume) {
	t.Helper()
	differs := ""
	for k := 0; k <= len(m.steps); k++ {
		if k >= m.acked {
			if differs = difference(t, v, m.twin); differs == "" {
				m.steps, m.acked = nil, 0
				return
			}
		}
		if k < len(m.steps) {
			st := m.steps[k]
			journaltest.Settle(t, func(done journal.Done) { st.call(m.twin, done) })
			m.script.went(st)
		}
	}
	var names []string
	for _, s := range m.steps {
		names = append(names, s.name)
	}
	t.Fatalf("%d of these steps were acknowledged, and no prefix of them explains what is there (%+v):\n%q\n%s", m.acked, v.Report(), names, differs)
}

func difference(t *testing.T, v, twin journal.Volume) string {
	t.Helper()
	for _, s := range scriptStreams {
		if got, want := journaltest.Replayed(t, v, s), journaltest.Replayed(t, twin, s); !slices.Equal(got, want) {
			return fmt.Sprintf("%s replays\n%q, its twin\n%q", s, got, want)
		}
		if got, want := journaltest.Batches(t, v, s, 0, 1<<30), journaltest.Batches(t, twin, s, 0, 1<<30); !slices.Equal(got, want) {
			return fmt.Sprintf("%s has batches\n%v, its twin\n%v", s, got, want)
		}
	}
	return ""
}

// counted compares the live bytes of segments, and those of the batches of streams, with a count from scratch.
func counted(t *testing.T, v *Volume) {
	t.Helper()
	want, err := v.index.Recount()
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := v.index.Resize()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scriptStreams {
		if got, err := v.Sizes([]journal.Stream{s}); err != nil || got[0] != sizes[s] {
			t.Fatalf("%s: %d bytes of batches are counted, %d are there (%v)", s, got, sizes[s], err)
		}
	}
	numbers, _ := v.log.Segments()
	for n := range want {
		if !slices.Contains(numbers, n) {
			t.Fatalf("the index points to segment %d, there are %v", n, numbers)
		}
	}
	for _, n := range numbers {
		if got := v.index.Usage(n).Live; got != want[n] {
			t.Fatalf("segment %d: %d live bytes are counted, %d are there", n, got, want[n])
		}
	}
}
