// Package bus carries replica floors, gate evidence and registration commands between clusters over NATS,
// and is the only importer of its client and server.
//
// Everything it carries is either a monotone fact that is repeated, or a command that its owner repeats
// until it is answered. Messages may be lost, doubled or reordered, and nobody may trust one for safety:
// floors are fenced by source epoch, registration epoch and data incarnation (R3), commands by generation
// (C3), evidence by all of them (C4). With NATS down everything still works over the Kafka port, slower.
//
// The destination is a plain client of the source's NATS, the same direction as its Kafka connections.
package bus

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// Options say where NATS is and whom the bus serves.
type Options struct {
	Cluster core.ClusterID
	// Listen is where the embedded server listens, host:port; "" when URL names an existing NATS.
	Listen    string
	URL       string
	Advertise string // what destinations are told, "" for the address the server has
	Insecure  bool   // allows a Listen that is not loopback
	Unsynced  bool   // this cluster runs with durability=os
	// Authorized: an authorizer decides who commands this cluster, so that what comes over NATS, from nobody in particular, is
	// sent to the Kafka port.
	Authorized bool
	Lease      time.Duration
	Source     Source
	Home       Destination
	// Ask sends one request to a broker of the source over the Kafka port and waits for its answer. When
	// ctx ends first, the connection ends with it, so that nothing is delivered later.
	Ask func(ctx context.Context, config map[string]string, req kmsg.Request) (kmsg.Response, error)
	Log *slog.Logger
}

// Source is what messages of destinations reach in this cluster. Nothing here blocks.
type Source interface {
	// ReportFloor hands a floor to the HW actor of the partition's leader.
	ReportFloor(id core.PartitionID, report highwater.ReportFloor)
	// Handle answers a Register or Unregister as the Kafka port does; reply runs once.
	Handle(req kmsg.Request, reply func(kmsg.Response))
	// Evidence is what the partition's leader may state now, checked as C4 asks: one per registered mirror.
	Evidence(id core.PartitionID) []Evidence
}

// Evidence is what a leader states to one destination.
type Evidence struct {
	Key  core.MirrorKey
	Body messages.PartitionEvidence
}

// Destination is what messages of sources reach in this cluster. Nothing here blocks.
type Destination interface {
	// Now is the clock of the actors.
	Now() core.Now
	// Tell hands a command to a mirror's actor.
	Tell(name core.MirrorName, cmd mirror.Command)
	// Register fills in what a Register says of this cluster beside the command: every cluster that gates
	// the topic behind it, itself first (C11), and its producer id prefix, -1 for none (C13).
	Register(topic core.TopicID) (path []core.ClusterID, prefix int32)
}

// Bus is one cluster's side of NATS. Its methods never block, except Open and Close.
type Bus struct {
	options Options
	sender  [16]byte // of this process: echoes of an earlier one prove no contact
	count   counters
	server  *server.Server
	inlet   *inlet
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	asking  chan struct{} // bounds commands under way

	mu      sync.Mutex
	closed  bool
	outlets map[core.MirrorName]*outlet
	out     map[question]outgoing
}

// maxAsking bounds the control commands that wait for an answer at one time; their owner repeats what is
// dropped beyond.
const maxAsking = 64

// Open starts the embedded server, if there is one, and the source's side. An external NATS that is down
// is no error: the link comes up when it does.
func Open(o Options) (*Bus, error) {
	ctx, stop := context.WithCancel(context.Background())
	b := &Bus{options: o, sender: uuid.New(), ctx: ctx, stop: stop, outlets: map[core.MirrorName]*outlet{}, out: map[question]outgoing{}, asking: make(chan struct{}, maxAsking)}
	self, err := token(o.Cluster)
	if err != nil {
		return nil, err
	}
	if (o.Listen == "") == (o.URL == "") {
		return nil, fmt.Errorf("give either --nats-listen or --nats-url, not %q and %q", o.Listen, o.URL)
	}
	var extra []nats.Option
	if o.Listen != "" {
		if b.server, err = startServer(self, o.Listen, o.Insecure, o.Log); err != nil {
			return nil, err
		}
		extra = append(extra, nats.InProcessServer(b.server))
	}
	if b.inlet, err = openInlet(b, self, extra); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// URL is what destinations are told to connect to (the broker setting lockstep.nats.url).
func (b *Bus) URL() string {
	switch {
	case b.options.Advertise != "":
		return b.options.Advertise
	case b.server != nil:
		url, err := serverURL(b.server)
		if err != nil {
			return ""
		}
		return url
	default:
		return b.options.URL
	}
}

// Close ends all links, then the server, and waits for everything the bus runs.
func (b *Bus) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.running.Wait()
	if b.inlet != nil {
		b.inlet.close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}

// outlet finds or makes the way to a mirror's source; nil once the bus is closed.
func (b *Bus) outlet(name core.MirrorName) *outlet {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	o, ok := b.outlets[name]
	if !ok {
		o = newOutlet(b, name)
		b.outlets[name] = o
		b.running.Go(o.run)
	}
	return o
}

// Source names the cluster and the NATS of a mirror's source. An empty URL leaves the mirror without.
func (b *Bus) Source(name core.MirrorName, cluster core.ClusterID, url string) {
	if o := b.outlet(name); o != nil {
		o.aim(cluster, url)
	}
}

// Placed says which source broker leads a partition, and whether acks wait there for our floor.
func (b *Bus) Placed(name core.MirrorName, id core.PartitionID, broker core.ReplicaID, waiters bool) {
	if o := b.outlet(name); o != nil {
		o.placed(id, broker, waiters)
	}
}

// Connected reports whether the link to the mirror's source is up.
func (b *Bus) Connected(name core.MirrorName) bool {
	o := b.outlet(name)
	return o != nil && o.connected()
}

// PublishFloor sends a floor now, and again until a newer one takes its place.
func (b *Bus) PublishFloor(id core.PartitionID, floor highwater.PublishFloor) {
	if o := b.outlet(floor.Mirror); o != nil {
		o.put(id, floor)
	}
}

// Forget stops repeating the floors of a topic: its mirror does not report any more.
func (b *Bus) Forget(name core.MirrorName, topic core.TopicID) {
	if o := b.outlet(name); o != nil {
		o.forget(topic)
	}
}

// GatesChanged says that the leader of a partition published other gates.
func (b *Bus) GatesChanged(id core.PartitionID) { b.inlet.changed(id) }

// Released tells a destination that the operator here released it; no topics means the whole mirror.
func (b *Bus) Released(key core.MirrorKey, number core.ReleaseNumber, topics []core.TopicID) {
	b.inlet.notify(key, &messages.ReleasedNotice{ReleaseNumber: int64(number)}, topics)
}

// Lifted tells a destination that the operator here no longer holds its recoveries; no topics means the whole
// mirror.
func (b *Bus) Lifted(key core.MirrorKey, topics []core.TopicID) {
	b.inlet.notify(key, &messages.ReleasedNotice{Lifted: true}, topics)
}
