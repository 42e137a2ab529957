package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

type (
	controllerActor   = actor[controller.State, controller.Command, controller.Event, controller.Effect]
	registrationActor = actor[registration.State, registration.Command, registration.Event, registration.Effect]
	mirrorActor       = actor[mirror.State, mirror.Command, mirror.Event, mirror.Effect]
)

// process is one life of clusterd: everything in it is gone when it dies.
type process struct {
	site        *site
	dead        bool
	ready       bool  // listeners are open, mirrors have resumed
	began       int64 // true time
	pausedUntil int64
	requests    core.RequestID
	life        int
	audits      []func()
	boxes       []*mailbox

	controller   *controllerActor
	registration *registrationActor
	mirrors      map[core.MirrorName]*mirrorActor
	brokers      []*broker
	newest       *image.Image // every fact published so far
	ledger       registration.Ledger
	known        map[core.PartitionID]*known
	highest      map[int32]int64 // producer ids found in logs, by prefix
	attached     bool            // fetchers and bus are there
	fetchers     map[core.MirrorName]*mirrorRun
	outlets      map[core.MirrorName]*outlet
	inlet        *inlet
	sent         map[command]*sent
	ids          idBlock
}

func newProcess(s *site) *process {
	p := &process{site: s, began: s.world.now, life: s.lives, newest: image.Empty(), mirrors: map[core.MirrorName]*mirrorActor{},
		known: map[core.PartitionID]*known{}, highest: map[int32]int64{}, fetchers: map[core.MirrorName]*mirrorRun{}, outlets: map[core.MirrorName]*outlet{}, sent: map[command]*sent{}}
	for i := range s.volumes {
		p.brokers = append(p.brokers, newBroker(p, core.ReplicaID(i+1), s.volumes[i]))
	}
	p.inlet = newInlet(p)
	return p
}

func (p *process) nextRequest() core.RequestID {
	p.requests++
	return p.requests
}

// clock is the present as this process sees it.
func (p *process) clock() core.Now {
	return core.Now{Mono: p.site.stretch(p.site.world.now-p.began) + 1, Wall: p.site.wall()}
}

func (p *process) mono() int64 { return p.clock().Mono }

// wake calls f at or after a mono instant, unless the process is dead by then. f posts into a mailbox.
func (p *process) wake(at int64, f func()) {
	d := at - p.mono()
	d += d/1000*-p.site.drift/1000 + 2*us
	p.site.world.after(d, func() {
		switch {
		case p.dead:
		case p.mono() < at:
			p.wake(at, f)
		default:
			f()
		}
	})
}

// start follows broker.Start, in the order of D6: coordinators replay, then every replica and its ledger;
// registrations and mirrors are published; one event raises all epochs and elects; then mirrors resume.
func (p *process) start() {
	w := p.site.world
	w.say("%s: process %d starts", p.site.id, p.life)
	var topics []image.Topic
	p.spawnController(func(s *controller.State) {
		for _, fact := range s.Facts() {
			if t, ok := fact.(image.TopicChanged); ok {
				topics = append(topics, t.Topic)
			}
		}
	})
	p.spawnRegistration()
	for _, name := range p.site.control.names(mirrorStreams) {
		p.spawnMirror(core.MirrorName(strings.TrimPrefix(name, mirrorStreams)))
	}
	restart := controller.RestartCluster{Cluster: p.site.id, Incarnation: core.Incarnation{byte(p.site.index), byte(p.life)}}
	for _, b := range p.brokers {
		restart.Brokers = append(restart.Brokers, image.Broker{ID: b.id, Live: true, Lossy: b.disk.wiped, Host: string(p.site.id), Port: int32(9091 + b.id)})
		restart.Logs = append(restart.Logs, b.spawnAll(topics)...)
		restart.Logs = append(restart.Logs, b.strays()...)
	}
	ids := make([]core.TopicID, len(topics))
	for i, t := range topics {
		ids[i] = t.ID
	}
	p.registration.tell(registration.Resume{Topics: ids, Patience: patience})
	waiting := 1 + len(p.mirrors)
	one := func(any) {
		if waiting--; waiting == 0 {
			p.controller.tell(restart)
		}
	}
	p.registration.ask(func(ref core.RequestID) registration.Command { return registration.Describe{Ref: ref} }, one)
	for _, name := range sortedKeys(p.mirrors) {
		m := p.mirrors[name]
		m.tell(mirror.Republish{})
		m.ask(func(ref core.RequestID) mirror.Command { return mirror.Describe{Ref: ref} }, one)
	}
}

// restarted is told once the controller has published everything it knows.
func (p *process) restarted() {
	for _, b := range p.brokers {
		b.disk.wiped = false // the controller has it on disk who is LOSSY
	}
	left := len(p.brokers)
	for _, b := range p.brokers {
		b.feed.box.post(func() {
			if left--; left == 0 {
				p.attach()
			}
		})
	}
}

func (p *process) attach() {
	p.attached, p.ready = true, true
	p.inlet.start()
	for _, name := range sortedKeys(p.mirrors) {
		p.mirrors[name].tell(mirror.Resume{})
	}
	p.site.world.say("%s: ready", p.site.id)
}

// publish appends facts to the one ordered stream of the process (D9).
func (p *process) publish(facts []image.Fact) {
	before := p.newest
	p.newest = image.ApplyAll(before, facts)
	p.site.world.faults.window(p, before, facts)
	for _, b := range p.brokers {
		b.feed.post(facts)
	}
	p.site.world.oracle.published(p, before, facts)
	for _, fact := range facts {
		if gone, ok := fact.(image.TopicGone); ok {
			p.topicGone(gone.ID)
		}
	}
}

// known is what has been let out of one partition since the process began, over all its leaders, as
// actors/broker keeps it.
type known struct{ acked, shown core.Offset }

func (p *process) knownOf(id core.PartitionID) *known {
	k := p.known[id]
	if k == nil {
		k = &known{}
		p.known[id] = k
	}
	return k
}

func (p *process) topicGone(id core.TopicID) {
	p.registration.tell(registration.DropTopic{Topic: id})
	if m, mirrored := p.newest.Mirrors[id]; mirrored {
		if a := p.mirrors[m.Mirror]; a != nil {
			a.tell(mirror.LocalTopicDeleted{Topic: id})
		}
	}
}

func (p *process) broker(id core.ReplicaID) *broker {
	if id < 1 || int(id) > len(p.brokers) {
		return nil
	}
	return p.brokers[id-1]
}

func (p *process) replica(broker core.ReplicaID, id core.PartitionID) *replica {
	if b := p.broker(broker); b != nil {
		return b.replicas[id]
	}
	return nil
}

// leader is the replica that the controller's newest word makes the leader, nil if its broker has none.
func (p *process) leader(id core.PartitionID) *replica { return p.replica(p.newest.Leader(id), id) }

// exit is os.Exit: the control quorum is lost. A supervisor starts the process again.
func (p *process) exit(reason string) {
	if p.dead {
		return
	}
	p.site.world.say("%s: gives up: %s", p.site.id, reason)
	p.site.world.after(0, func() {
		if !p.dead {
			p.site.kill()
			p.site.world.after(within(p.site.random, 500*ms, 5*sec), p.site.boot)
		}
	})
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func comparePartitions(a, b core.PartitionID) int {
	return cmp.Or(slices.Compare(a.Topic[:], b.Topic[:]), cmp.Compare(a.Index, b.Index))
}

func sortedPartitions[V any](m map[core.PartitionID]V) []core.PartitionID {
	return slices.SortedFunc(maps.Keys(m), comparePartitions)
}
