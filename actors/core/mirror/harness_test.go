package mirror

import (
	"bytes"
	"maps"
	"reflect"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
	"lockstep/testkit/laws"
)

// site drives the machine as the shell does and holds it to the laws of every machine at each step.
type site struct {
	t       *testing.T
	s       *State
	now     core.Now
	journal []core.Entry
	effects []Effect // of the newest command: early, then late
	early   []Effect
	all     []Effect // since start
	script  []laws.Step[Command]
}

func newSite(t *testing.T) *site {
	return &site{t: t, s: Machine().Init("m"), now: core.Now{Mono: 100e9, Wall: 1_700_000_000_000}}
}

func cloneState(s *State) *State {
	c := *s
	c.topics = maps.Clone(s.topics)
	for id, t := range c.topics {
		c.topics[id] = t.clone()
	}
	return &c
}

func (d *site) do(cmd Command) []Effect {
	d.t.Helper()
	m := Machine()
	d.script = append(d.script, laws.Step[Command]{Now: d.now, Cmd: cmd})
	before := cloneState(d.s)
	out := m.Decide(d.s, d.now, cmd)
	if !reflect.DeepEqual(before, d.s) {
		d.t.Fatalf("Decide(%#v) changed the state", cmd)
	}
	for _, ev := range out.Events {
		if entry, durable := m.Encode(ev); durable {
			back, err := m.Decode(entry)
			if err != nil || !reflect.DeepEqual(back, ev) {
				d.t.Fatalf("Decode(Encode(%#v)) = %#v, %v", ev, back, err)
			}
			d.journal = append(d.journal, entry)
		}
		m.Apply(d.s, ev)
	}
	d.early = out.Early
	d.effects = append(append([]Effect{}, out.Early...), out.Late...)
	d.all = append(d.all, d.effects...)
	return d.effects
}

// replay brings the state back from the journal, once whole and once over a snapshot.
func (d *site) replay() *State {
	d.t.Helper()
	full := d.replayOnly()
	if m := Machine(); !bytes.Equal(m.Snapshot(full), m.Snapshot(d.s)) {
		d.t.Fatal("replay and the live state differ")
	}
	return full
}

func (d *site) replayOnly() *State {
	d.t.Helper()
	m := Machine()
	full, half := m.Init("m"), m.Init("m")
	for i, entry := range d.journal {
		ev, err := m.Decode(entry)
		if err != nil {
			d.t.Fatal(err)
		}
		m.Apply(full, ev)
		m.Apply(half, ev)
		if i == len(d.journal)/2 {
			if half, err = m.Restore("m", m.Snapshot(half)); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	if !bytes.Equal(m.Snapshot(full), m.Snapshot(half)) {
		d.t.Fatal("full replay and snapshot with tail differ")
	}
	return full
}

// restart forgets soft state and everything under way, then resumes.
func (d *site) restart() []Effect {
	d.t.Helper()
	d.s = d.replay()
	d.pass(1e9)
	d.do(Republish{})
	return d.do(Resume{})
}

func (d *site) pass(ns int64) {
	d.now.Mono += ns
	d.now.Wall += ns / 1e6
}

// tick lets time pass in steps of the machine's clock and returns the effects of all of them.
func (d *site) tick(ns int64) (effects []Effect) {
	d.t.Helper()
	for end := d.now.Mono + ns; d.now.Mono < end; {
		d.pass(min(tickNs, end-d.now.Mono))
		effects = append(effects, d.do(Tick{})...)
	}
	return effects
}

var (
	topicA = core.TopicID{1}
	data1  = core.Incarnation{1}
)

const partitions = 2

func id(p int32) core.PartitionID { return core.PartitionID{Topic: topicA, Index: p} }

func startOf(typ Type) StartTopic {
	return StartTopic{Source: SourceTopic{ID: topicA, Name: "a", Partitions: partitions}, Type: typ, Fresh: data1}
}

// started is a mirror with one topic that exists here.
func started(t *testing.T, typ Type) *site {
	d := newSite(t)
	d.do(CreateMirror{Mirror: "m", SourceCluster: "src", Config: map[string]string{"bootstrap.servers": "x:1"}})
	d.do(StartTopics{Topics: []StartTopic{startOf(typ)}})
	d.do(LocalTopicAnswered{Topic: topicA})
	return d
}

// progress reports an answered fetch of one partition.
func (d *site) progress(p int32, leo, hw core.Offset) {
	d.t.Helper()
	d.report(p, func(r *ReportProgress) { r.LEO, r.SourceHW = leo, hw })
}

func (d *site) report(p int32, change func(*ReportProgress)) {
	d.t.Helper()
	t := d.topic()
	r := ReportProgress{
		ID: id(p), Session: t.Session, Asked: d.now.Mono, Sync: t.fetchMode() == FetchSync, SourceEpoch: 5, Adopted: 5,
		SourceHW: 10, LEO: 10, LocalEpoch: 15, ISRSize: 3, MinISR: 2, Rate: 1 << 20,
	}
	change(&r)
	d.do(r)
}

func (d *site) topic() *topic { return d.s.topics[topicA] }

// registering catches up and sends Register.
func registering(t *testing.T) *site {
	d := started(t, TypeSync)
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	d.tick(tickNs)
	if d.topic().phase() != Registering {
		t.Fatalf("phase %s, want REGISTERING", d.topic().phase())
	}
	return d
}

// admit answers the pending Register with OK under a registration epoch.
func (d *site) admit(epoch core.RegistrationEpoch) []Effect {
	d.t.Helper()
	return d.do(RegisterAnswered{Topic: topicA, Generation: d.topic().Generation, Epoch: epoch})
}

// evidence states that a leader gates from start on and has accepted floor, T = the source's clock.
func (d *site) evidence(p int32, epoch core.RegistrationEpoch, start, floor core.Offset) []Effect {
	d.t.Helper()
	return d.do(ReportEvidence{
		ID: id(p), Sent: d.now.Mono - 5e6, Epoch: epoch, SourceEpoch: 5, GateStart: start, Floor: floor,
		T: ClaimTime{Clock: d.now.Wall - 1000, Index: 7},
	})
}

// synced is a topic whose claim stands, under registration epoch 1.
func synced(t *testing.T) *site {
	d := registering(t)
	d.admit(1)
	for p := int32(0); p < partitions; p++ {
		d.evidence(p, 1, 10, 10)
	}
	if claimInsideGate && d.topic().phase() != Sync {
		t.Fatalf("phase %s, want SYNC", d.topic().phase())
	}
	return d
}

func (d *site) unregistered() []Effect {
	d.t.Helper()
	return d.do(UnregisterAnswered{Topic: topicA, Generation: d.topic().Generation})
}

func (d *site) describe() TopicDescription {
	d.t.Helper()
	return last[Described](d.t, d.do(Describe{})).Mirror.Topics[0]
}

func (d *site) mode() FetchMode {
	d.t.Helper()
	return last[FetchTopic](d.t, d.all).Mode
}

// published is what the brokers were last told of the topic.
func (d *site) published() image.MirrorTopic {
	d.t.Helper()
	facts := last[Publish](d.t, d.all).Facts
	return facts[len(facts)-1].(image.MirrorTopicChanged).Topic
}

func all[E any](effects []Effect) (list []E) {
	for _, e := range effects {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

func last[E any](t *testing.T, effects []Effect) E {
	t.Helper()
	list := all[E](effects)
	if len(list) == 0 {
		var none E
		t.Fatalf("no %T in %#v", none, effects)
		return none
	}
	return list[len(list)-1]
}

func first[E any](effects []Effect) int {
	for i, e := range effects {
		if _, ok := e.(E); ok {
			return i
		}
	}
	return -1
}

func refuse(d *site, p int32, code perr.Code) {
	d.t.Helper()
	d.do(ReportFailure{ID: id(p), Session: d.topic().Session, Asked: d.now.Mono, Code: code, Text: "refused"})
}

func (d *site) phase(want Phase) {
	d.t.Helper()
	if got := d.topic().phase(); got != want {
		d.t.Fatalf("phase %s, want %s", got, want)
	}
}
