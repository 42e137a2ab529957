package mirror_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// world is two machines, the real ledger and the real mirror, with scripted partitions between them: leaders that
// lag behind the ledger, elections that lose what was not acknowledged, a network that loses, repeats and
// reorders, crashes before and after the disk, and two operators who know nothing of each other.
type world struct {
	t    *testing.T
	r    *rand.Rand
	seed int64
	log  []string

	now    int64 // mono ns of both sides
	src    *source
	dst    *destination
	net    []message
	faults bool

	stubborn bool // messages stay on the network after delivery, operators are busy
	restores bool // the destination may come back from an older journal
	stops    bool

	releases map[core.TopicID]core.ReleaseNumber // newest release that covers the topic
	answered map[core.TopicID]core.ReleaseNumber // newest one an admission echoed
	restored bool                                // the destination came back from an older journal
	opened   map[core.TopicID]bool               // writable at the destination
	ungated  map[core.PartitionID]int64          // source clock when a leader un-gated for a stop
}

type message struct {
	about string
	run   func()
}

const skewMs = 3_600_000 // the source's clock is an hour ahead

var worldTopics = []core.TopicID{{1}, {2}}

const worldPartitions = 2

func newWorld(t *testing.T, seed int64) *world {
	w := &world{
		t: t, r: rand.New(rand.NewSource(seed)), seed: seed, now: 1000e9,
		releases: map[core.TopicID]core.ReleaseNumber{}, answered: map[core.TopicID]core.ReleaseNumber{},
		opened: map[core.TopicID]bool{}, ungated: map[core.PartitionID]int64{},
	}
	w.src = newSource(w)
	w.dst = newDestination(w)
	w.faults = true
	return w
}

func (w *world) clock() core.Now       { return core.Now{Mono: w.now, Wall: w.now / 1e6} }
func (w *world) sourceClock() core.Now { return core.Now{Mono: w.now, Wall: w.now/1e6 + skewMs} }

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%8.3f ", float64(w.now-1000e9)/1e9)+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	tail := w.log[max(0, len(w.log)-80):]
	for _, line := range tail {
		w.t.Log(line)
	}
	w.t.Fatalf("seed %d: %s", w.seed, fmt.Sprintf(format, args...))
}

// send puts a message on the network. While faults last it may vanish or arrive twice.
func (w *world) send(about string, run func()) {
	m := message{about, run}
	switch {
	case !w.faults:
		w.net = append(w.net, m)
	case w.r.Intn(5) == 0:
	case w.r.Intn(5) == 0:
		w.net = append(w.net, m, m)
	default:
		w.net = append(w.net, m)
	}
	if len(w.net) > 40 { // the oldest are lost
		w.net = w.net[len(w.net)-40:]
	}
}

func (w *world) deliver() {
	if len(w.net) == 0 {
		return
	}
	i := 0
	if w.faults {
		i = w.r.Intn(len(w.net))
	}
	m := w.net[i]
	if !w.faults || !w.stubborn || w.r.Intn(2) > 0 {
		w.net = slices.Delete(w.net, i, i+1)
	}
	w.note("delivered %s", m.about)
	m.run()
}

// step does one thing that may happen.
func (w *world) step() {
	w.now += int64(1+w.r.Intn(60)) * 1e6
	topic := worldTopics[w.r.Intn(len(worldTopics))]
	p := w.src.parts[core.PartitionID{Topic: topic, Index: int32(w.r.Intn(worldPartitions))}]
	switch n := w.r.Intn(100); {
	case n < 30:
		w.deliver()
	case n < 40:
		p.produce()
	case n < 55:
		w.dst.fetch(p)
	case n < 65:
		p.applyFact()
	case n < 72:
		p.advance()
	case n < 88:
		w.dst.do(mirror.Tick{})
	case n < 90:
		w.src.do(registration.Tick{})
	default:
		w.fault(topic, p)
	}
	w.check()
}

func (w *world) fault(topic core.TopicID, p *part) {
	if w.stubborn && w.r.Intn(4) > 0 { // long calm, then a change of mind
		if w.r.Intn(8) == 0 {
			w.dst.do(mirror.AlterType{Topics: []core.TopicID{topic}, Type: mirror.TypeAsync})
			w.dst.do(mirror.AlterType{Topics: []core.TopicID{topic}, Type: mirror.TypeSync})
		}
		return
	}
	switch n := w.r.Intn(40); {
	case n < 6:
		p.elect()
	case n < 8:
		w.src.restart()
	case n < 11:
		w.dst.restart()
	case n < 14:
		w.src.release(topic)
	case n < 15:
		w.src.release()
	case n < 20:
		w.dst.do(mirror.AlterType{Topics: []core.TopicID{topic}, Type: mirror.Type(w.r.Intn(2))})
	case n < 22 && w.stops:
		w.dst.do(mirror.StopTopics{Topics: []core.TopicID{topic}})
	case n < 23 && w.restores && !w.restored:
		w.dst.restore()
	case n < 24:
		w.now += int64(w.r.Intn(12)) * 1e9
	}
}

// settle ends all faults and lets both sides come to rest.
func (w *world) settle() {
	w.faults = false
	rounds := 500
	if w.restores {
		rounds = 900 // the demotion time-out of 30 s is part of the way back
	}
	for range rounds {
		w.now += 50e6
		for range 4 {
			w.deliver()
		}
		for _, p := range w.src.sorted() {
			p.applyFact()
			p.advance()
			w.dst.fetch(p)
			p.advance()
		}
		w.dst.do(mirror.Tick{})
		w.src.do(registration.Tick{})
		w.check()
	}
}

func registrationsOf(facts []image.Fact) (list []image.RegistrationsChanged) {
	for _, f := range facts {
		if f, ok := f.(image.RegistrationsChanged); ok {
			list = append(list, f)
		}
	}
	return list
}
