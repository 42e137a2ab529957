package bus

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/messages"
)

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
	src := w.open("src", "127.0.0.1:0", time.Second)
	addr := src.server.Addr().String()
	dst := w.open("dst", "127.0.0.1:0", time.Second)
	t.Cleanup(dst.Close)
	w.link(src, dst)
	dst.PublishFloor(id(1), floorAt(1, 100))
	w.await("the floor", func() bool { return w.newest[id(1)].Floor == 100 })
	src.Close()
	dst.PublishFloor(id(1), floorAt(2, 150))
	dst.PublishFloor(id(2), floorAt(1, 7))
	src = w.open("src", addr, time.Second)
	t.Cleanup(src.Close)
	w.await("both floors", func() bool { return w.newest[id(1)].Floor == 150 && w.newest[id(2)].Floor == 7 })
	if c := dst.Counts(); c.Connects < 2 || c.Disconnects < 1 {
		t.Errorf("connects %d, disconnects %d", c.Connects, c.Disconnects)
	}
}

// A destination may start before the source's NATS does. Its first floor may even come before the source
// listens to its own server, hence the short lease.
func TestTheLinkComesUpWhenTheServerDoes(t *testing.T) {
	w := newWorld(t)
	probe := w.open("src", "127.0.0.1:0", time.Second)
	addr, url := probe.server.Addr().String(), probe.URL()
	probe.Close()
	dst := w.open("dst", "127.0.0.1:0", time.Second)
	t.Cleanup(dst.Close)
	dst.Source("dr", "src", url)
	dst.PublishFloor(id(1), floorAt(1, 100))
	src := w.open("src", addr, time.Second)
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
	w.await("the floor", func() bool { return len(w.floors) >= 1 })
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
	eventually(t, "all rubbish is counted", func() bool {
		s, d := src.Counts(), dst.Counts()
		return s.Malformed+s.Foreign >= 16 && d.Malformed+d.Foreign >= 7
	})
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
	eventually(t, "the overrun is counted", func() bool { return src.Counts().SlowConsumer > 0 })
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
