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

	"github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// world stands for both clusters beside the bus: what reached the source, what reached the destination.
type world struct {
	t     *testing.T
	start time.Time

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
	reply(w.handle(req))
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
func (w *world) Register() ([]core.ClusterID, int32) {
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
	switch r := req.(type) {
	case *messages.UnregisterMirrorSyncTopicRequest:
		resp := r.ResponseKind().(*messages.UnregisterMirrorSyncTopicResponse)
		t := messages.NewUnregisterMirrorSyncTopicResponseTopicResult()
		t.TopicId, t.TopicName = r.Topics[0].TopicId, r.Topics[0].TopicName
		t.Partitions = []messages.UnregisterMirrorSyncTopicResponseUngated{{Partition: 1, LogEndOffset: 12}, {Partition: -4, LogEndOffset: 1}, {Partition: 1 << 30}}
		resp.Topics = append(resp.Topics, t)
		return resp, nil
	default:
		return w.handle(req), nil
	}
}

func (w *world) open(cluster core.ClusterID, listen string, lease time.Duration) *Bus {
	w.t.Helper()
	b, err := Open(Options{Cluster: cluster, Listen: listen, Lease: lease, Source: w, Home: w, Ask: w.ask,
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

func (w *world) link(src, dst *Bus) {
	w.t.Helper()
	dst.Source("dr", "src", src.URL())
	for deadline := time.Now().Add(5 * time.Second); !dst.Connected("dr"); {
		if time.Now().After(deadline) {
			w.t.Fatal("no link to the source's NATS")
		}
		time.Sleep(time.Millisecond)
	}
}

func id(i int) core.PartitionID { return core.PartitionID{Topic: core.TopicID{9}, Index: int32(i)} }

func floorAt(seq int64, floor core.Offset) highwater.PublishFloor {
	return highwater.PublishFloor{Mirror: "dr", Epoch: 5, SourceEpoch: 3, Incarnation: core.Incarnation{1}, Floor: floor, ISRSize: 2, MinISR: 2, DestEpoch: 20, Seq: seq}
}

func TestAFloorReachesTheSourcesLeader(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(time.Hour)
	dst.Placed("dr", id(1), 2, false)
	dst.PublishFloor(id(1), floorAt(1, 100))
	want := highwater.ReportFloor{Key: core.MirrorKey{Cluster: "dst", Mirror: "dr"}, Epoch: 5, SourceEpoch: 3, Incarnation: core.Incarnation{1},
		Floor: 100, ISRSize: 2, MinISR: 2, DestEpoch: 20, Seq: 1}
	w.await("the floor", func() bool { return w.newest[id(1)] == want })
}

func TestAnOlderFloorDoesNotReplaceANewerOne(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(300 * time.Millisecond)
	dst.PublishFloor(id(1), floorAt(7, 100))
	late := floorAt(99, 60)
	late.DestEpoch = 19
	dst.PublishFloor(id(1), late)
	w.await("repeats", func() bool { return len(w.floors) >= 4 })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.floors {
		if f.Floor != 100 {
			t.Fatalf("floor %d of destination epoch %d was sent after a newer one", f.Floor, f.DestEpoch)
		}
	}
}

// Fault rows 14 and 16: a lost floor is repeated while acks wait for it.
func TestFloorsAreRepeatedWhileAcksWait(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(time.Hour)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the first", func() bool { return len(w.floors) >= 1 })
	dst.Placed("dr", id(1), 1, true)
	w.await("repeats", func() bool { return len(w.floors) >= 4 })
	dst.Placed("dr", id(1), 1, false)
	w.change(func() { w.floors = nil })
	dst.PublishFloor(id(1), floorAt(2, 101))
	w.await("the newest", func() bool { return w.newest[id(1)].Floor == 101 })
}

func TestFloorsAreRepeatedEveryThirdOfALease(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(600 * time.Millisecond)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the first", func() bool { return len(w.floors) >= 1 })
	begin := time.Now()
	w.change(func() { w.floors = nil })
	// One more may be due to the link that has just come up.
	w.await("three repeats", func() bool { return len(w.floors) >= 4 })
	if d := time.Since(begin); d < 450*time.Millisecond {
		t.Errorf("three repeats in %v: every third of a 600 ms lease takes longer", d)
	}
}

// Fault row 15: the server is restarted on its address; everything sent meanwhile is lost and comes again.
func TestFloorsComeAgainAfterTheServerWasRestarted(t *testing.T) {
	w := newWorld(t)
	src := w.open("src", "127.0.0.1:0", time.Hour)
	addr := src.server.Addr().String()
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	w.link(src, dst)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the floor", func() bool { return w.newest[id(1)].Floor == 100 })
	src.Close()
	dst.PublishFloor(id(1), floorAt(2, 150))
	dst.PublishFloor(id(2), floorAt(1, 7))
	src = w.open("src", addr, time.Hour)
	t.Cleanup(src.Close)
	w.await("both floors", func() bool { return w.newest[id(1)].Floor == 150 && w.newest[id(2)].Floor == 7 })
	if c := dst.Counts(); c.Connects < 2 || c.Disconnects < 1 {
		t.Errorf("connects %d, disconnects %d", c.Connects, c.Disconnects)
	}
}

// A destination may start before the source's NATS does.
func TestTheLinkComesUpWhenTheServerDoes(t *testing.T) {
	w := newWorld(t)
	probe := w.open("src", "127.0.0.1:0", time.Hour)
	addr, url := probe.server.Addr().String(), probe.URL()
	probe.Close()
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	dst.Source("dr", "src", url)
	dst.PublishFloor(id(1), floorAt(1, 100))
	src := w.open("src", addr, time.Hour)
	t.Cleanup(src.Close)
	w.await("the floor", func() bool { return w.newest[id(1)].Floor == 100 })
}

func TestABigSetOfFloorsTravelsInSmallMessages(t *testing.T) {
	const partitions = 3*floorsPerMessage + 100
	w := newWorld(t)
	src, dst := w.pair(time.Hour)
	watcher, err := nats.Connect(src.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	var mu sync.Mutex
	largest := 0
	if _, err := watcher.Subscribe(">", func(m *nats.Msg) { mu.Lock(); largest = max(largest, len(m.Data)); mu.Unlock() }); err != nil {
		t.Fatal(err)
	}
	if err := watcher.Flush(); err != nil {
		t.Fatal(err)
	}
	o := dst.outlet("dr")
	o.mu.Lock() // so that all are due at once; every partition is a topic of its own, the largest encoding
	for i := range partitions {
		p := core.PartitionID{Topic: core.TopicID{byte(i), byte(i >> 8)}, Index: int32(i)}
		o.floors[p] = &sentFloor{known: true, floor: floorAt(1, core.Offset(i)), broker: 1}
		o.dirty[p] = true
	}
	o.mu.Unlock()
	o.nudge()
	w.await("all floors", func() bool { return len(w.newest) == partitions })
	if err := watcher.Flush(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if largest > MaxChunk || largest == 0 {
		t.Errorf("largest message has %d bytes, allowed are %d", largest, MaxChunk)
	}
}

func TestGarbageIsCountedAndDropped(t *testing.T) {
	w := newWorld(t)
	src, dst := w.pair(time.Hour)
	dst.PublishFloor(id(1), floorAt(1, 1))
	w.await("the floor", func() bool { return len(w.floors) == 1 })
	liar, err := nats.Connect(src.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer liar.Close()
	nameless := messages.EncodeBus(&messages.ReplicaFloors{DestinationCluster: "a.b.*", MirrorName: "dr", Topics: []messages.ReplicaFloorsTopic{{Partitions: []messages.ReplicaFloorsPartition{{Floor: 1 << 60}}}}})
	whole := messages.EncodeBus(&messages.ReplicaFloors{DestinationCluster: "dst", MirrorName: "dr", Topics: []messages.ReplicaFloorsTopic{{Partitions: []messages.ReplicaFloorsPartition{{Floor: 1 << 60}}}}})
	rubbish := [][]byte{nil, {1}, []byte("hello"), {0x7f, 0xff, 0, 0}, {1, 44, 0, 9}, whole[:len(whole)/2], append(whole[:4:4], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), nameless}
	for _, subject := range []string{floorsSubject("src", 1), controlSubject("src"), evidenceSubject("src", "dst")} {
		for _, p := range rubbish {
			if err := liar.Publish(subject, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := liar.Flush(); err != nil {
		t.Fatal(err)
	}
	dst.PublishFloor(id(1), floorAt(2, 2))
	w.await("floors still flow", func() bool { return w.newest[id(1)].Floor == 2 })
	for deadline := time.Now().Add(5 * time.Second); src.Counts().Malformed+src.Counts().Foreign < 16 || dst.Counts().Malformed+dst.Counts().Foreign < 7; {
		if time.Now().After(deadline) {
			t.Fatalf("counted %+v and %+v", src.Counts(), dst.Counts())
		}
		time.Sleep(time.Millisecond)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.floors) != 2 || len(w.told) != 0 || len(w.requests) != 0 {
		t.Errorf("rubbish had an effect: floors %v, told %v, requests %v", w.floors, w.told, w.requests)
	}
}

// The source is too slow for a burst: what is dropped is counted, and repeated until it is there.
func TestASlowConsumerCatchesUp(t *testing.T) {
	w := newWorld(t)
	src, dst := w.pair(300 * time.Millisecond)
	block := make(chan struct{})
	w.change(func() { w.block = block })
	flood, err := nats.Connect(src.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer flood.Close()
	noise := messages.EncodeBus(&messages.ReplicaFloors{DestinationCluster: "other", MirrorName: "x",
		Topics: []messages.ReplicaFloorsTopic{{TopicId: core.TopicID{1}, Partitions: []messages.ReplicaFloorsPartition{{Partition: 1}}}}})
	for range 3 * pendingMessages {
		if err := flood.Publish(floorsSubject("src", 1), noise); err != nil {
			t.Fatal(err)
		}
	}
	if err := flood.Flush(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); src.Counts().SlowConsumer == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the overrun is not counted")
		}
		time.Sleep(time.Millisecond)
	}
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.change(func() { w.block = nil })
	close(block)
	w.await("the floor", func() bool { return w.newest[id(1)].Floor == 100 })
}

func TestAnOversizedMessageIsNotSent(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(time.Hour)
	l := dst.outlet("dr").link
	l.publish(floorsSubject("src", 1), make([]byte, MaxPayload+1))
	if _, err := l.request(context.Background(), controlSubject("src"), make([]byte, MaxPayload+1)); err == nil {
		t.Error("an oversized request was sent")
	}
	if n := dst.Counts().Oversized; n != 2 {
		t.Errorf("%d oversized messages counted, want 2", n)
	}
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the link stands", func() bool { return w.newest[id(1)].Floor == 100 })
}

func TestListenAddressesAreChecked(t *testing.T) {
	cases := []struct {
		listen   string
		insecure bool
		ok       bool
	}{
		{"127.0.0.1:0", false, true}, {"localhost:0", false, true}, {"[::1]:0", false, true},
		{"0.0.0.0:0", false, false}, {"0.0.0.0:0", true, true}, {":4222", false, false}, {"10.1.2.3:1", false, false},
		{"127.0.0.1", false, false}, {"127.0.0.1:x", false, false}, {"127.0.0.1:70000", false, false}, {"example.org:1", false, false},
	}
	for _, c := range cases {
		_, _, err := splitListen(c.listen, c.insecure)
		if (err == nil) != c.ok {
			t.Errorf("listen %q, insecure %v: %v", c.listen, c.insecure, err)
		}
	}
	if _, err := Open(Options{Cluster: "a*b", Listen: "127.0.0.1:0"}); err == nil {
		t.Error("a cluster id with a wildcard was taken")
	}
	if _, err := Open(Options{Cluster: "a"}); err == nil {
		t.Error("neither a listener nor a URL was taken")
	}
}
