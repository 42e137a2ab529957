package fetcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
	"lockstep/protocol/properties"
)

// mirrorRun is one mirror: its goroutine knows the source's metadata and says which fetcher reads what.
type mirrorRun struct {
	all     *Fetchers
	name    core.MirrorName
	log     *slog.Logger
	ctx     context.Context
	count   *counters
	inbox   *inbox
	reports *reports

	config   Config
	throttle *throttle // of this mirror alone; nil: none
	raw      map[string]string
	topics   map[core.TopicID]mirror.FetchTopic
	watch    mirror.WatchSource
	leaders  map[core.PartitionID]leadership
	brokers  map[core.ReplicaID]string // host:port
	fetchers map[core.ReplicaID]*fetcher

	wanted  bool // metadata is wanted before its time
	watched time.Time
	next    time.Time // when metadata is read anyway
	soonest time.Time // not before
	pause   backoff
}

// leadership is what the source's metadata says of one partition.
type leadership struct {
	broker core.ReplicaID
	epoch  core.LeaderEpoch
	// lower is since when metadata states a lower epoch than the one kept. One stale broker must not
	// take us back; a source that was really restored from a backup says so for long, and the partition
	// becomes DIVERGED (R3).
	lower time.Time
	// since is when metadata began to state the epoch that is kept, or a lower one.
	since time.Time
}

const (
	// refreshGap is the shortest time between two metadata requests.
	refreshGap = 50 * time.Millisecond
	// lowerAfter is how long a lower source epoch must be stated before it is believed.
	lowerAfter = 30 * time.Second
)

// Messages of the inbox, beside mirror.FetchTopic and mirror.WatchSource.
type (
	configured struct{ config map[string]string }
	refresh    struct{}
)

func newMirrorRun(f *Fetchers, name core.MirrorName) *mirrorRun {
	return &mirrorRun{all: f, name: name, log: f.options.Log.With("mirror", name), ctx: f.ctx, count: &f.count, inbox: newInbox(),
		reports: newReports(name, f.options.Destination, &f.health), topics: map[core.TopicID]mirror.FetchTopic{},
		leaders: map[core.PartitionID]leadership{}, brokers: map[core.ReplicaID]string{}, fetchers: map[core.ReplicaID]*fetcher{}}
}

func (m *mirrorRun) home() Destination { return m.all.options.Destination }
func (m *mirrorRun) links() Links      { return m.all.options.Links }

// refresh asks for metadata soon; callable from any goroutine.
func (m *mirrorRun) refresh() { m.inbox.put(refresh{}) }

func (m *mirrorRun) run() {
	quit := make(chan struct{})
	go m.reports.run(quit)
	defer func() {
		m.stopFetchers()
		close(quit)
		<-m.reports.finished
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.inbox.ready:
		case <-timer.C:
		}
		changed := false
		for _, msg := range m.inbox.take() {
			changed = m.receive(msg) || changed
		}
		if changed {
			m.assign()
		}
		now := time.Now()
		if m.wants(now) {
			m.readSource()
			now = time.Now()
		}
		timer.Reset(m.nap(now))
	}
}

// receive takes one message; changed says that fetchers must hear of it.
func (m *mirrorRun) receive(msg any) (changed bool) {
	switch msg := msg.(type) {
	case configured:
		if maps.Equal(m.raw, msg.config) && m.raw != nil {
			return false
		}
		m.raw = maps.Clone(msg.config)
		c, err := ParseConfig(msg.config, m.all.options.Secrets)
		if err != nil {
			m.log.Error("mirror configuration cannot be used", "error", err)
			m.failAll(perr.InvalidConfig, err.Error())
			return false
		}
		if c != m.config {
			m.stopFetchers() // they read settings without a lock
			if c.ThrottledRate != m.config.ThrottledRate {
				m.throttle = newThrottle(c.ThrottledRate)
			}
			m.config = c
			m.leaders = map[core.PartitionID]leadership{}
			m.wanted = true
		}
		return true
	case mirror.FetchTopic:
		if msg.Mode != mirror.FetchSync {
			m.links().Forget(m.name, msg.Topic)
		}
		if msg.Mode == mirror.FetchOff {
			delete(m.topics, msg.Topic)
			return true
		}
		if _, known := m.topics[msg.Topic]; !known {
			m.wanted = true
		}
		m.topics[msg.Topic] = msg
		return true
	case mirror.WatchSource:
		m.watch = msg
		m.watched = time.Time{}
		m.wanted = m.wanted || len(msg.Include) > 0
		return false
	case refresh:
		m.wanted = true
		return false
	default:
		panic("fetcher: unknown message")
	}
}

// busy reports whether there is anything to know of the source.
func (m *mirrorRun) busy() bool {
	return m.config.Bootstrap != "" && (len(m.topics) > 0 || len(m.watch.Include) > 0)
}

func (m *mirrorRun) wants(now time.Time) bool {
	return m.busy() && !now.Before(m.soonest) && (m.wanted || !now.Before(m.next))
}

func (m *mirrorRun) nap(now time.Time) time.Duration {
	if !m.busy() {
		return time.Minute // a message wakes us
	}
	if m.wanted {
		return max(m.soonest.Sub(now), time.Millisecond)
	}
	return min(max(m.next.Sub(now), time.Millisecond), time.Minute)
}

// readSource reads metadata from any broker that answers, and acts on it.
func (m *mirrorRun) readSource() {
	m.wanted = false
	m.count.metadataRefreshes.Add(1)
	err := m.tryBrokers(m.readMetadata)
	now := time.Now()
	if err != nil {
		m.count.metadataFailures.Add(1)
		m.log.Warn("no broker of the source answers", "bootstrap", m.config.Bootstrap, "error", err)
		code := perr.BrokerNotAvailable
		if errors.As(err, new(*properties.Refused)) {
			code = perr.SaslAuthenticationFailed
		}
		m.failAll(code, fmt.Sprintf("source unreachable: %v", err))
		m.soonest = now.Add(m.pause.next(m.all.connect))
		m.wanted = true
		return
	}
	m.pause.reset()
	m.all.health.readMetadata(m.name, now)
	m.soonest = now.Add(refreshGap)
	m.next = now.Add(m.config.MetadataRefresh)
	m.assign()
}

// dial connects to one broker of the source.
func (m *mirrorRun) dial(ctx context.Context, addr string) (*conn, error) {
	m.count.dials.Add(1)
	cn, err := dial(ctx, m.config, addr)
	if err == nil {
		if err = cn.belongs(ctx, m.config); err != nil {
			cn.close()
		}
	}
	if err != nil {
		m.count.dialFailures.Add(1)
		return nil, err
	}
	return cn, nil
}

// tryBrokers calls read with a connection to one broker after the other, known ones first, until one
// succeeds.
func (m *mirrorRun) tryBrokers(read func(context.Context, *conn) error) error {
	addrs := m.config.Addresses()
	for _, a := range m.brokers {
		addrs = append(addrs, a)
	}
	var last error
	tried := map[string]bool{}
	for _, a := range addrs {
		if tried[a] || m.ctx.Err() != nil {
			continue
		}
		tried[a] = true
		last = func() error {
			ctx, cancel := context.WithTimeout(m.ctx, min(m.config.RequestTimeout, metadataTimeout))
			defer cancel()
			cn, err := m.dial(ctx, a)
			if err != nil {
				return err
			}
			defer cn.close()
			return read(ctx, cn)
		}()
		if last == nil {
			return nil
		}
		last = fmt.Errorf("%s: %w", a, last)
	}
	return last
}

// metadataTimeout is short: another broker may answer at once.
const metadataTimeout = 5 * time.Second

// assign tells every fetcher what to read; fetchers of brokers that lead nothing end.
func (m *mirrorRun) assign() {
	per := map[core.ReplicaID]map[core.PartitionID]assignment{}
	for _, t := range m.topics {
		for i := range t.Partitions {
			id := core.PartitionID{Topic: t.Topic, Index: i}
			l, ok := m.leaders[id]
			if !ok || m.brokers[l.broker] == "" {
				continue
			}
			if per[l.broker] == nil {
				per[l.broker] = map[core.PartitionID]assignment{}
			}
			per[l.broker][id] = assignment{ID: id, Topic: t.Name, Session: t.Session, Sync: t.Mode == mirror.FetchSync,
				Epoch: t.Epoch, Incarnation: t.Incarnation, FollowUnclean: t.FollowUnclean, Accept: slices.Contains(t.Accept, i), SourceEpoch: l.epoch, Since: l.since}
		}
	}
	for broker, f := range m.fetchers {
		if per[broker] == nil || f.addr != m.brokers[broker] {
			f.close()
			delete(m.fetchers, broker)
		}
	}
	for broker, list := range per {
		f, ok := m.fetchers[broker]
		if !ok {
			f = startFetcher(m, broker, m.brokers[broker])
			m.fetchers[broker] = f
		}
		f.inbox.put(assign{list})
	}
}

func (m *mirrorRun) stopFetchers() {
	for broker, f := range m.fetchers {
		f.close()
		delete(m.fetchers, broker)
	}
}

// failAll reports every partition of the mirror as failing for a reason that is not its own.
func (m *mirrorRun) failAll(code perr.Code, text string) {
	now := m.home().Now().Mono
	for _, t := range m.topics {
		for i := range t.Partitions {
			m.reports.failed(core.PartitionID{Topic: t.Topic, Index: i}, t.Session, now, code, text)
		}
	}
}
