package bus

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/bus/facts"
	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// inlet is the source's side: floors and commands of destinations in, evidence and notices out.
type inlet struct {
	bus  *Bus
	link *link
	log  *slog.Logger
	wake chan struct{}
	done chan struct{}

	mu     sync.Mutex
	heard  map[core.MirrorKey]heard
	gated  map[core.PartitionID]time.Time // partitions that had evidence, and when it was last sent
	stated map[statement]messages.PartitionEvidence
	dirty  map[core.PartitionID]bool
}

// heard is the newest report of a destination that was taken in: evidence composed after it echoes it.
type heard struct {
	sender [16]byte
	mono   int64
}

type statement struct {
	id  core.PartitionID
	key core.MirrorKey
}

const (
	// evidenceGap is the shortest time between two rounds of evidence.
	evidenceGap = 10 * time.Millisecond
	// evidenceEvery is how often evidence is repeated while only offsets move under load.
	evidenceEvery = 250 * time.Millisecond
	// maxHeard bounds what unknown senders can make us remember.
	maxHeard = 4096
	// partitionsPerEvidence keeps a message of evidence, about 140 bytes a partition, below MaxChunk.
	partitionsPerEvidence = 2048
	// maxName is Kafka's limit for names, which a mirror shares.
	maxName = 249
)

// openInlet connects to this cluster's own NATS and begins to listen.
func openInlet(b *Bus, self string, extra []nats.Option) (*inlet, error) {
	n := &inlet{bus: b, log: b.options.Log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		heard: map[core.MirrorKey]heard{}, gated: map[core.PartitionID]time.Time{},
		stated: map[statement]messages.PartitionEvidence{}, dirty: map[core.PartitionID]bool{}}
	l, err := dial(b.options.URL, "source", &b.count, b.options.Log, func() {}, extra...)
	if err != nil {
		return nil, err
	}
	n.link = l
	if err := l.listen(anyFloorsSubject(self), func(m *nats.Msg) { n.receiveFloors(m.Data) }); err != nil {
		l.close()
		return nil, err
	}
	if err := l.listen(controlSubject(self), n.receiveControl); err != nil {
		l.close()
		return nil, err
	}
	go n.run()
	return n, nil
}

func (n *inlet) close() {
	<-n.done
	n.link.close()
}

// receiveFloors hands on a destination's floors. Every one is fenced by the HW actor; a forged mirror or
// an unknown partition finds no gate there.
func (n *inlet) receiveFloors(payload []byte) {
	msg, err := messages.DecodeBus(payload)
	if err != nil {
		n.bus.count.malformed.Add(1)
		return
	}
	m, ok := msg.(*messages.ReplicaFloors)
	if !ok {
		n.bus.count.foreign.Add(1)
		return
	}
	if _, err := token(core.ClusterID(m.DestinationCluster)); err != nil || m.MirrorName == "" || len(m.MirrorName) > maxName {
		n.bus.count.malformed.Add(1)
		return
	}
	key := core.MirrorKey{Cluster: core.ClusterID(m.DestinationCluster), Mirror: core.MirrorName(m.MirrorName)}
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[j]
			n.bus.count.floorsReceived.Add(1)
			n.bus.options.Source.ReportFloor(core.PartitionID{Topic: m.Topics[i].TopicId, Index: p.Partition}, facts.Report(key, p))
		}
	}
	n.hear(key, heard{m.Sender, m.SentMono})
}

// hear keeps the newest report of a sender; a late one of the same process is older.
func (n *inlet) hear(key core.MirrorKey, h heard) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old, known := n.heard[key]
	if !known && len(n.heard) >= maxHeard || known && old.sender == h.sender && h.mono <= old.mono {
		return
	}
	n.heard[key] = h
}

// receiveControl answers a Register or Unregister with what the Kafka port would answer.
func (n *inlet) receiveControl(m *nats.Msg) {
	msg, err := messages.DecodeBus(m.Data)
	if err != nil {
		n.bus.count.malformed.Add(1)
		return
	}
	c, ok := msg.(*messages.ControlRequest)
	if !ok || c.SourceCluster != string(n.bus.options.Cluster) || m.Reply == "" {
		n.bus.count.foreign.Add(1)
		return
	}
	answer := &messages.ControlAnswer{ApiKey: c.ApiKey, ApiVersion: c.ApiVersion}
	req, err := controlRequest(c)
	if err != nil {
		n.bus.count.malformed.Add(1)
		text := err.Error()
		answer.ErrorCode, answer.ErrorMessage = int16(perr.InvalidRequest), &text
		n.link.publish(m.Reply, messages.EncodeBus(answer))
		return
	}
	if n.bus.options.Authorized {
		text := "a source with an authorizer takes commands on its Kafka port, where it knows who gives them"
		answer.ErrorCode, answer.ErrorMessage = int16(perr.ClusterAuthorizationFailed), &text
		n.link.publish(m.Reply, messages.EncodeBus(answer))
		return
	}
	n.bus.options.Source.Handle(req, func(resp kmsg.Response) {
		resp.SetVersion(c.ApiVersion)
		answer.Body = resp.AppendTo(nil)
		n.link.publish(m.Reply, messages.EncodeBus(answer))
	})
}

// controlRequest reads the request inside: only registrations come this way.
func controlRequest(c *messages.ControlRequest) (kmsg.Request, error) {
	switch c.ApiKey {
	case messages.KeyRegisterMirrorSyncTopic, messages.KeyUnregisterMirrorSyncTopic, messages.KeySupersedeMirrorTopics:
	default:
		return nil, fmt.Errorf("API key %d is not served over the bus", c.ApiKey)
	}
	req, err := messages.NewRequest(c.ApiKey, c.ApiVersion)
	if err != nil {
		return nil, err
	}
	return req, req.ReadFrom(c.Body)
}

// changed asks for evidence of a partition.
func (n *inlet) changed(id core.PartitionID) {
	n.mu.Lock()
	n.dirty[id] = true
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// notify is sent once: what it says comes again with every refused fetch and Register.
func (n *inlet) notify(key core.MirrorKey, m *messages.ReleasedNotice, topics []core.TopicID) {
	to, err := token(key.Cluster)
	if err != nil {
		return
	}
	m.SourceCluster, m.DestinationCluster, m.MirrorName = string(n.bus.options.Cluster), to, string(key.Mirror)
	for _, t := range topics {
		m.TopicIds = append(m.TopicIds, t)
	}
	n.link.publish(evidenceSubject(string(n.bus.options.Cluster), to), messages.EncodeBus(m))
}
