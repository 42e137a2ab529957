package bus

import (
	"bytes"
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"lockstep/actors/bus/facts"
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// outlet is a mirror's way to its source: floors out, evidence and notices in.
type outlet struct {
	bus  *Bus
	name core.MirrorName
	log  *slog.Logger
	wake chan struct{}

	mu     sync.Mutex
	source core.ClusterID
	url    string
	link   *link // nil while there is no URL
	floors map[core.PartitionID]*sentFloor
	dirty  map[core.PartitionID]bool
	again  bool // the link came up: everything once more
}

// sentFloor is the newest floor of one partition.
type sentFloor struct {
	known   bool // false: only the place is known
	floor   highwater.PublishFloor
	broker  core.ReplicaID
	waiters bool
	sent    int64 // mono ns
}

const (
	// repeatWaiting is how often a floor is repeated while the source says that acks wait for it: the only
	// cure for a lost message.
	repeatWaiting = 100 * time.Millisecond
	// floorsPerMessage keeps a message of floors, about 100 bytes a partition with its topic, below MaxChunk.
	floorsPerMessage = 4096
)

func newOutlet(b *Bus, name core.MirrorName) *outlet {
	return &outlet{bus: b, name: name, log: b.options.Log.With("mirror", name), wake: make(chan struct{}, 1),
		floors: map[core.PartitionID]*sentFloor{}, dirty: map[core.PartitionID]bool{}}
}

// run owns the link and sends what is due.
func (o *outlet) run() {
	ticker := time.NewTicker(repeatWaiting)
	defer ticker.Stop()
	defer func() {
		if o.link != nil {
			o.link.close()
		}
	}()
	var url string
	var source core.ClusterID
	for {
		select {
		case <-o.bus.ctx.Done():
			return
		case <-o.wake:
		case <-ticker.C:
		}
		o.mu.Lock()
		wantURL, wantSource := o.url, o.source
		o.mu.Unlock()
		if wantURL != url || wantSource != source {
			url, source = wantURL, wantSource
			o.relink(url, source)
		}
		o.flush()
	}
}

// relink replaces the link. Dialling may take its time; floors wait meanwhile in the table.
func (o *outlet) relink(url string, source core.ClusterID) {
	old := o.link
	o.mu.Lock()
	o.link = nil
	o.mu.Unlock()
	if old != nil {
		old.close()
	}
	if url == "" {
		return
	}
	src, err := token(source)
	if err != nil {
		o.log.Warn("source names itself by an id that cannot be used", "error", err)
		return
	}
	self, _ := token(o.bus.options.Cluster) // checked by Open
	l, err := dial(url, string(o.name), &o.bus.count, o.log, o.repeat)
	if err == nil {
		err = l.listen(evidenceSubject(src, self), func(m *nats.Msg) { o.receive(m.Data, source) })
		if err != nil {
			l.close()
		}
	}
	if err != nil {
		o.log.Warn("no link to the NATS of the source; floors travel in fetches only", "url", url, "error", err)
		return
	}
	o.mu.Lock()
	o.link = l
	o.mu.Unlock()
	o.repeat()
}

func (o *outlet) aim(source core.ClusterID, url string) {
	o.mu.Lock()
	changed := o.source != source || o.url != url
	o.source, o.url = source, url
	o.mu.Unlock()
	if changed {
		o.nudge()
	}
}

func (o *outlet) connected() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.link != nil && o.link.up()
}

// repeat sends every floor again: what was sent while the link was down is lost.
func (o *outlet) repeat() {
	o.mu.Lock()
	o.again = true
	o.mu.Unlock()
	o.nudge()
}

func (o *outlet) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// put takes a floor. Two leaders in turn may publish; both tell the truth, the newer one is kept.
func (o *outlet) put(id core.PartitionID, f highwater.PublishFloor) {
	o.mu.Lock()
	e := o.entry(id)
	older := keepNewestFloor && e.known && (f.DestEpoch < e.floor.DestEpoch || f.DestEpoch == e.floor.DestEpoch && f.Seq < e.floor.Seq)
	if !older {
		e.floor, e.known = f, true
		o.dirty[id] = true
	}
	o.mu.Unlock()
	if !older {
		o.nudge()
	}
}

func (o *outlet) placed(id core.PartitionID, broker core.ReplicaID, waiters bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.entry(id)
	e.broker, e.waiters = broker, waiters
}

func (o *outlet) entry(id core.PartitionID) *sentFloor {
	e, ok := o.floors[id]
	if !ok {
		e = &sentFloor{}
		o.floors[id] = e
	}
	return e
}

func (o *outlet) forget(topic core.TopicID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.floors {
		if id.Topic == topic {
			delete(o.floors, id)
			delete(o.dirty, id)
		}
	}
}

// due takes the floors that are to be sent now, by the source broker that leads their partition.
func (o *outlet) due(now int64) map[core.ReplicaID][]core.PartitionID {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.link == nil || !o.link.up() {
		return nil // what stays dirty goes when the link is up
	}
	per := map[core.ReplicaID][]core.PartitionID{}
	for id, e := range o.floors {
		age := time.Duration(now - e.sent)
		switch {
		case !e.known:
			continue
		case o.again, o.dirty[id], repeatFloorsWhileWaiting && e.waiters && age >= repeatWaiting, age >= o.bus.options.Lease/3:
			e.sent = now
			per[e.broker] = append(per[e.broker], id)
		}
	}
	o.again = false
	clear(o.dirty)
	return per
}

// flush sends what is due, chunked.
func (o *outlet) flush() {
	now := o.bus.options.Home.Now().Mono
	for broker, ids := range o.due(now) {
		slices.SortFunc(ids, comparePartitions)
		for chunk := range slices.Chunk(ids, floorsPerMessage) {
			o.send(broker, chunk, now)
		}
	}
}

func comparePartitions(a, b core.PartitionID) int {
	return cmp.Or(bytes.Compare(a.Topic[:], b.Topic[:]), cmp.Compare(a.Index, b.Index))
}

func (o *outlet) send(broker core.ReplicaID, ids []core.PartitionID, now int64) {
	m := &messages.ReplicaFloors{DestinationCluster: string(o.bus.options.Cluster), MirrorName: string(o.name), Sender: o.bus.sender, SentMono: now}
	o.mu.Lock()
	for _, id := range ids {
		e := o.floors[id]
		if e == nil {
			continue // forgotten meanwhile
		}
		facts.AddFloor(m, id, e.floor)
	}
	l, source := o.link, o.source
	o.mu.Unlock()
	if l == nil {
		return
	}
	o.bus.count.floorsSent.Add(int64(len(ids)))
	l.publish(floorsSubject(string(source), broker), messages.EncodeBus(m))
}

// receive reads what the source says. It runs on a goroutine of the client.
func (o *outlet) receive(payload []byte, source core.ClusterID) {
	msg, err := messages.DecodeBus(payload)
	if err != nil {
		o.bus.count.malformed.Add(1)
		return
	}
	switch m := msg.(type) {
	case *messages.GateEvidence:
		if o.forUs(m.SourceCluster, m.DestinationCluster, m.MirrorName, source) {
			o.receiveEvidence(m)
		}
	case *messages.ReleasedNotice:
		if o.forUs(m.SourceCluster, m.DestinationCluster, m.MirrorName, source) {
			o.receiveRelease(m)
		}
	default:
		o.bus.count.foreign.Add(1)
	}
}

// forUs checks the address inside the message: subjects are only routing.
func (o *outlet) forUs(from, to, name string, source core.ClusterID) bool {
	if from == string(source) && to == string(o.bus.options.Cluster) || !addressInsideMessage {
		return name == string(o.name) // evidence for other mirrors of ours comes by the same subject
	}
	o.bus.count.foreign.Add(1)
	return false
}

func (o *outlet) receiveEvidence(m *messages.GateEvidence) {
	// Freshness counts from when we sent the floor that this answers (F19). An echo of another process, or
	// of the future, answers nothing of ours.
	sent := int64(0)
	if (m.Sender == o.bus.sender || !echoOfThisProcessOnly) && m.SentMono > 0 && m.SentMono <= o.bus.options.Home.Now().Mono {
		sent = m.SentMono
	}
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			id := core.PartitionID{Topic: m.Topics[i].TopicId, Index: m.Topics[i].Partitions[j].Partition}
			e := &m.Topics[i].Partitions[j].Evidence
			o.mu.Lock()
			known := o.floors[id]
			if known != nil {
				known.waiters = e.HasWaiters
			}
			o.mu.Unlock()
			o.bus.count.evidenceReceived.Add(1)
			if known == nil && e.Gating {
				o.bus.options.Home.Tell(o.name, mirror.ReportUnknownPartition{ID: id})
			}
			// A partition we never reported of cannot be gated on us.
			if (known != nil || !evidenceOfReportedOnly) && e.Gating {
				o.bus.options.Home.Tell(o.name, facts.Evidence(id, sent, e))
			}
		}
	}
}

func (o *outlet) receiveRelease(m *messages.ReleasedNotice) {
	var topics []core.TopicID
	for _, id := range m.TopicIds {
		topics = append(topics, id)
	}
	if m.Lifted {
		o.bus.options.Home.Tell(o.name, mirror.ReportLifted{Topics: topics})
		return
	}
	o.bus.options.Home.Tell(o.name, mirror.ReportReleased{Number: core.ReleaseNumber(m.ReleaseNumber), Topics: topics})
}
