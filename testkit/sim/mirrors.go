package sim

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

// mirrorRun is one mirror's fetching: it knows the source's metadata and says which fetcher reads what.
type mirrorRun struct {
	home     *process
	name     core.MirrorName
	link     *link
	box      *mailbox
	topics   map[core.TopicID]mirror.FetchTopic
	leaders  map[core.PartitionID]leadership
	fetchers map[core.ReplicaID]*fetcher
	pending  map[core.PartitionID]*pendingReport
	flushing bool
	asking   bool
	wanted   bool
	soonest  int64
	next     int64
	pause    int64
	armedFor int64
}

type leadership struct {
	broker core.ReplicaID
	epoch  core.LeaderEpoch
	lower  int64
	since  int64
}

type pendingReport struct {
	progress *mirror.ReportProgress
	failure  *mirror.ReportFailure
	evidence *mirror.ReportEvidence
}

const (
	refreshGap      = 50 * ms
	metadataRefresh = 60 * sec
	lowerAfter      = 30 * sec
	reportEvery     = 20 * ms
	requestTimeout  = 30 * sec
)

// fetchTopic takes an order of the mirror's machine.
func (p *process) fetchTopic(t mirror.FetchTopic) {
	m := p.fetchers[t.Mirror]
	if m == nil {
		if t.Mode == mirror.FetchOff {
			return
		}
		m = &mirrorRun{home: p, name: t.Mirror, link: p.site.world.net.link(p.site, p.site.world.sites[0]), box: p.newMailbox("fetcher/" + string(t.Mirror)),
			topics: map[core.TopicID]mirror.FetchTopic{}, leaders: map[core.PartitionID]leadership{}, fetchers: map[core.ReplicaID]*fetcher{},
			pending: map[core.PartitionID]*pendingReport{}}
		p.boxes = append(p.boxes, m.box)
		p.fetchers[t.Mirror] = m
	}
	m.box.post(func() { m.take(t) })
}

func (m *mirrorRun) take(t mirror.FetchTopic) {
	if t.Mode != mirror.FetchSync {
		m.home.outlet(m.name).forget(t.Topic)
	}
	if t.Mode == mirror.FetchOff {
		delete(m.topics, t.Topic)
	} else {
		if _, known := m.topics[t.Topic]; !known {
			m.wanted = true
		}
		m.topics[t.Topic] = t
	}
	m.assign()
	m.turn()
}

func (m *mirrorRun) refresh() {
	m.wanted = true
	m.turn()
}

// turn reads metadata when it is due and arms the next look.
func (m *mirrorRun) turn() {
	now := m.home.mono()
	if m.asking || len(m.topics) == 0 {
		return
	}
	due := m.next
	if m.wanted {
		due = m.soonest
	}
	if now < due {
		if m.armedFor == 0 || due < m.armedFor {
			m.armedFor = due
			m.home.wake(due, func() {
				m.box.post(func() {
					if m.armedFor == due {
						m.armedFor = 0
					}
					m.turn()
				})
			})
		}
		return
	}
	m.wanted, m.asking = false, true
	brokers := len(m.home.site.world.sites[0].volumes)
	first := core.ReplicaID(1 + m.link.random.IntN(brokers))
	m.link.ask(m.home, true, m.home.site.world.options.DialTimeout, 5*sec, func(source *process, answer func(any)) {
		// A stopped broker's listener is closed; another address is tried.
		for step := range brokers {
			b := source.broker(1 + (first-1+core.ReplicaID(step))%core.ReplicaID(brokers))
			if b.running && b.lost == nil {
				answer(b.feed.image)
				return
			}
		}
		answer(errRefused)
	}, func(answer any, err error) { m.box.post(func() { m.read(answer, err) }) })
}

func (m *mirrorRun) read(answer any, err error) {
	now := m.home.mono()
	m.asking = false
	if err != nil {
		for _, id := range sortedTopics(m.topics) {
			t := m.topics[id]
			for i := range t.Partitions {
				m.failed(core.PartitionID{Topic: id, Index: i}, t.Session, now, perr.BrokerNotAvailable, fmt.Sprintf("source unreachable: %v", err))
			}
		}
		m.soonest = now + slower(&m.pause, connectPace)
		m.wanted = true
		m.turn()
		return
	}
	m.pause = 0
	m.soonest, m.next = now+refreshGap, now+metadataRefresh
	img := answer.(*image.Image)
	for _, topic := range sortedTopics(m.topics) {
		t, known := img.Topic(topic)
		if !known { // neither asking by its id nor a list of all shows it
			m.home.mirrorTell(m.name, mirror.ReportSourceTopicGone{Topic: topic, Text: fmt.Sprintf("source cluster has no topic with id %s", topic)})
			continue
		}
		if n := len(t.Partitions); n > int(m.topics[topic].Partitions) {
			m.home.mirrorTell(m.name, mirror.ReportPartitions{Topic: topic, Count: int32(n)})
		}
		for i, p := range t.Partitions {
			if p.Leader == core.NoReplica {
				continue
			}
			id := core.PartitionID{Topic: topic, Index: int32(i)}
			old, ok := m.leaders[id]
			switch {
			case !ok || p.LeaderEpoch > old.epoch:
				m.leaders[id] = leadership{broker: p.Leader, epoch: p.LeaderEpoch, since: now}
			case p.LeaderEpoch == old.epoch:
				m.leaders[id] = leadership{broker: p.Leader, epoch: p.LeaderEpoch, since: old.since}
			case old.lower != 0 && now-old.lower >= lowerAfter:
				m.leaders[id] = leadership{broker: p.Leader, epoch: p.LeaderEpoch, since: old.lower}
			case old.lower == 0:
				old.lower = now
				m.leaders[id] = old
			}
		}
	}
	m.assign()
	m.turn()
}

// assign tells every fetcher what to read; fetchers of brokers that lead nothing end.
func (m *mirrorRun) assign() {
	per := map[core.ReplicaID]map[core.PartitionID]assignment{}
	for topic, t := range m.topics {
		for i := range t.Partitions {
			id := core.PartitionID{Topic: topic, Index: i}
			l, ok := m.leaders[id]
			if !ok {
				continue
			}
			if per[l.broker] == nil {
				per[l.broker] = map[core.PartitionID]assignment{}
			}
			per[l.broker][id] = assignment{id: id, session: t.Session, sync: t.Mode == mirror.FetchSync, epoch: t.Epoch,
				incarnation: t.Incarnation, followUnclean: t.FollowUnclean, sourceEpoch: l.epoch, since: l.since}
		}
	}
	for _, broker := range sortedKeys(m.fetchers) {
		if per[broker] == nil {
			m.fetchers[broker].close()
			delete(m.fetchers, broker)
		}
	}
	for _, broker := range sortedKeys(per) {
		f := m.fetchers[broker]
		if f == nil {
			f = newFetcher(m, broker)
			m.fetchers[broker] = f
		}
		list := per[broker]
		f.box.post(func() { f.assign(list) })
	}
}

// note gathers what fetchers learn for the mirror actor, newest first per partition.
func (m *mirrorRun) note(id core.PartitionID, set func(*pendingReport)) {
	r := m.pending[id]
	if r == nil {
		r = &pendingReport{}
		m.pending[id] = r
	}
	set(r)
	if m.flushing {
		return
	}
	m.flushing = true
	m.home.wake(m.home.mono()+reportEvery, func() {
		m.flushing = false
		batch := m.pending
		m.pending = map[core.PartitionID]*pendingReport{}
		for _, id := range sortedPartitions(batch) {
			r := batch[id]
			if r.failure != nil {
				m.home.mirrorTell(m.name, *r.failure)
			}
			if r.progress != nil {
				m.home.mirrorTell(m.name, *r.progress)
			}
			if r.evidence != nil {
				m.home.mirrorTell(m.name, *r.evidence)
			}
		}
	})
}

// statedFloor is what was published under the adopted source epoch and the present registration.
func (m *mirrorRun) statedFloor(c *cursor) (f highwater.PublishFloor, ok bool) {
	r := m.home.leader(c.id)
	if r == nil || r.floor == nil {
		return f, false
	}
	f = *r.floor
	return f, f.Mirror == m.name && f.Epoch == c.epoch && f.Incarnation == c.incarnation && f.SourceEpoch == c.adopted && f.SourceIncarnation == c.source
}

func (m *mirrorRun) progressed(c *cursor, q askedFor) {
	floor := core.Unknown
	if f, ok := m.statedFloor(c); ok {
		floor = f.Floor
	}
	report := c.progress(m.home, q, floor)
	m.note(c.id, func(r *pendingReport) {
		r.progress = &report
		if c.refusal == 0 {
			r.failure = nil
		}
	})
}

func (m *mirrorRun) failed(id core.PartitionID, session core.MirrorSession, asked int64, code perr.Code, text string) {
	report := mirror.ReportFailure{ID: id, Session: session, Asked: asked, Code: code, Text: text}
	m.note(id, func(r *pendingReport) { r.failure, r.progress = &report, nil })
}

func (m *mirrorRun) refused(c *cursor, asked int64) {
	report := mirror.ReportFailure{ID: c.id, Session: c.session, Asked: asked, Code: c.refusal}
	m.note(c.id, func(r *pendingReport) { r.failure = &report })
}

// adopted looks at what an adoption cut (R11).
func (m *mirrorRun) adopted(c *cursor, reset, belowFloor bool, leo core.Offset, text string) {
	switch {
	case reset, belowFloor && !c.beforeCut.clean:
	case leo < c.beforeCut.hw:
		text = fmt.Sprintf("followed the source below its own HW %d: cut to %d", c.beforeCut.hw, leo)
	default:
		return
	}
	m.home.mirrorTell(m.name, mirror.ReportReset{ID: c.id, Session: c.session, Text: text})
}
