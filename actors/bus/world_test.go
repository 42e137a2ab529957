package bus

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// world stands for both clusters beside the bus: what reached the source, what reached the destination.
type world struct {
	authorized bool // the clusters have an authorizer
	t          *testing.T
	start      time.Time

	mu       sync.Mutex
	news     *sync.Cond
	floors   []arrived
	newest   map[core.PartitionID]highwater.ReportFloor
	requests []kmsg.Request
	told     []mirror.Command
	evidence map[core.PartitionID][]Evidence
	kafka    []kmsg.Request // what went over the Kafka port
	down     bool           // the Kafka port does not answer
	why      error          // how it does not
	handle   func(kmsg.Request) kmsg.Response
	block    chan struct{}
}

type arrived struct {
	id core.PartitionID
	highwater.ReportFloor
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, start: time.Now(), newest: map[core.PartitionID]highwater.ReportFloor{}, evidence: map[core.PartitionID][]Evidence{}}
	w.news = sync.NewCond(&w.mu)
	w.handle = func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*messages.RegisterMirrorSyncTopicResponse)
		r := messages.NewRegisterMirrorSyncTopicResponseTopicResult()
		in := req.(*messages.RegisterMirrorSyncTopicRequest).Topics[0]
		r.TopicName, r.TopicId, r.RegistrationEpoch = in.TopicName, in.TopicId, 5
		r.Gates = []messages.RegisterMirrorSyncTopicResponseGate{{Partition: 2, LeaderEpoch: 3, GateStart: 44}}
		resp.Topics = append(resp.Topics, r)
		return resp
	}
	return w
}

func (w *world) change(f func()) {
	w.mu.Lock()
	f()
	w.news.Broadcast()
	w.mu.Unlock()
}

func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(8 * time.Second)
	timer := time.AfterFunc(8*time.Second, func() { w.change(func() {}) })
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !ok() {
		if !time.Now().Before(deadline) {
			w.t.Fatalf("timed out: %s; %d floors, %d requests, told %v", what, len(w.floors), len(w.requests), w.told)
		}
		w.news.Wait()
	}
}

// The source's side.
func (w *world) ReportFloor(id core.PartitionID, r highwater.ReportFloor) {
	w.mu.Lock()
	block := w.block
	w.mu.Unlock()
	if block != nil {
		<-block
	}
	w.change(func() { w.floors = append(w.floors, arrived{id, r}); w.newest[id] = r })
}

func (w *world) Handle(req kmsg.Request, reply func(kmsg.Response)) {
	w.change(func() { w.requests = append(w.requests, req) })
	if r, ok := req.(*messages.UnregisterMirrorSyncTopicRequest); ok {
		reply(unregister(r))
		return
	}
	w.mu.Lock()
	handle := w.handle
	w.mu.Unlock()
	reply(handle(req))
}

func (w *world) Evidence(id core.PartitionID) []Evidence {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.evidence[id]
}

// The destination's side.
func (w *world) Now() core.Now { return core.Now{Mono: int64(time.Since(w.start)) + 1} }
func (w *world) Tell(_ core.MirrorName, cmd mirror.Command) {
	w.change(func() { w.told = append(w.told, cmd) })
}
func (w *world) Register(core.TopicID) ([]core.ClusterID, int32) {
	return []core.ClusterID{"dst", "behind"}, 77
}

func (w *world) ask(_ context.Context, _ map[string]string, req kmsg.Request) (kmsg.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kafka = append(w.kafka, req)
	w.news.Broadcast()
	if w.down {
		return nil, cmp.Or(w.why, errors.New("no answer"))
	}
	if r, ok := req.(*messages.UnregisterMirrorSyncTopicRequest); ok {
		return unregister(r), nil
	}
	return w.handle(req), nil
}

// unregister names one LEO that counts and two that no topic can have.
func unregister(r *messages.UnregisterMirrorSyncTopicRequest) kmsg.Response {
	resp := r.ResponseKind().(*messages.UnregisterMirrorSyncTopicResponse)
	t := messages.NewUnregisterMirrorSyncTopicResponseTopicResult()
	t.TopicId, t.TopicName = r.Topics[0].TopicId, r.Topics[0].TopicName
	t.Partitions = []messages.UnregisterMirrorSyncTopicResponseUngated{{Partition: 1, LogEndOffset: 12}, {Partition: -4, LogEndOffset: 1}, {Partition: 1 << 30}}
	resp.Topics = append(resp.Topics, t)
	return resp
}

func (w *world) open(cluster core.ClusterID, listen string, lease time.Duration) *Bus {
	w.t.Helper()
	b, err := Open(Options{Cluster: cluster, Listen: listen, Lease: lease, Source: w, Home: w, Ask: w.ask, Authorized: w.authorized,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// pair opens a source and a destination and links them.
func (w *world) pair(lease time.Duration) (src, dst *Bus) {
	w.t.Helper()
	src = w.open("src", "127.0.0.1:0", lease)
	w.t.Cleanup(src.Close)
	dst = w.open("dst", "127.0.0.1:0", lease)
	w.t.Cleanup(dst.Close)
	w.link(src, dst)
	return src, dst
}

// link waits for the destination's subscription too: a notice that is sent once reaches no one before it.
func (w *world) link(src, dst *Bus) {
	w.t.Helper()
	dst.Source("dr", "src", src.URL())
	eventually(w.t, "a link to the source's NATS", func() bool { return dst.Connected("dr") })
	o := dst.outlet("dr")
	o.mu.Lock()
	l := o.link
	o.mu.Unlock()
	if err := l.nc.FlushTimeout(8 * time.Second); err != nil {
		w.t.Fatal("the subscription does not reach the server: ", err)
	}
}

func id(i int) core.PartitionID { return core.PartitionID{Topic: core.TopicID{9}, Index: int32(i)} }

func floorAt(seq int64, floor core.Offset) highwater.PublishFloor {
	return highwater.PublishFloor{Mirror: "dr", Epoch: 5, SourceEpoch: 3, Incarnation: core.Incarnation{1}, Floor: floor, ISRSize: 2, MinISR: 2, DestEpoch: 20, Seq: seq}
}

// eventually looks again every millisecond, for what tells nobody that it has changed.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(8 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("timed out: " + what)
		}
	}
}
