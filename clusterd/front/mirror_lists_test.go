package front

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/registration"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// bareMirror is a destination that speaks only the draft KIP: no tagged field of ours ever leaves it.
type bareMirror struct {
	h  *house
	id core.TopicID
}

func (m *bareMirror) registration(recovery bool) *messages.RegisterMirrorSyncTopicRequest {
	r := messages.NewPtrRegisterMirrorSyncTopicRequest()
	r.MirrorName = "bare"
	rt := messages.NewRegisterMirrorSyncTopicRequestTopicState()
	rt.TopicId, rt.TopicName, rt.RecoveryPromotion = m.id, "t", recovery
	r.Topics = append(r.Topics, rt)
	return r
}

func (m *bareMirror) register(recovery bool) perr.Code {
	m.h.t.Helper()
	return perr.Code(m.h.raw(1, m.registration(recovery), 0).(*messages.RegisterMirrorSyncTopicResponse).Topics[0].ErrorCode)
}

func (m *bareMirror) unregistration() *messages.UnregisterMirrorSyncTopicRequest {
	r := messages.NewPtrUnregisterMirrorSyncTopicRequest()
	r.MirrorName = "bare"
	rt := messages.NewUnregisterMirrorSyncTopicRequestTopicState()
	rt.TopicId, rt.TopicName = m.id, "t"
	r.Topics = append(r.Topics, rt)
	return r
}

// list is one fetch with the positions of replicas 1, 2, … of which all are in sync.
type list struct {
	offset   int64
	epoch    int32 // CurrentLeaderEpoch
	last     int32 // LastFetchedEpoch
	leos     []int64
	minISR   int32
	wait     time.Duration
	stranger bool // the list is about a partition that the fetch does not ask for
}

func (m *bareMirror) request(l list) *messages.FetchRequest {
	asked := m.id
	if l.stranger {
		asked = core.TopicID{9}
	}
	r := fetchRequest(1<<20, ask{topic: asked, offset: l.offset, current: l.epoch + 1, last: l.last + 1})
	r.MaxWaitMs = int32(l.wait.Milliseconds())
	p := messages.FetchRequestMirroredTopicPartition{MinISR: l.minISR}
	for i, leo := range l.leos {
		p.ReplicaLastOffsets = append(p.ReplicaLastOffsets, messages.FetchRequestReplicaLastOffsets{ReplicaId: int32(i + 1), LastFetchOffset: leo})
		p.ISR = append(p.ISR, int32(i+1))
	}
	r.MirrorReplicaInfo.MirrorName = "bare"
	r.MirrorReplicaInfo.Topics = []messages.FetchRequestMirroredTopics{{Topic: "t", TopicId: m.id, Partitions: []messages.FetchRequestMirroredTopicPartition{p}}}
	return r
}

func (m *bareMirror) fetch(l list) messages.FetchResponsePartition {
	m.h.t.Helper()
	return m.h.rawAt(m.h.leader("t", 0), m.request(l), 20)[0]
}

// bareHouse is a topic with one record, a source that gates on a plain peer, and that peer.
func bareHouse(t *testing.T) (*house, *bareMirror, int32) {
	t.Helper()
	h := newHouse(t, 1)
	m := &bareMirror{h: h, id: h.fill("t", 1, 10)}
	if code := m.register(false); code != perr.None {
		t.Fatal(code)
	}
	epoch := int32(0)
	waitFor(t, "the gate", func() bool {
		r, ok := h.cluster.Leader(core.PartitionID{Topic: m.id})
		epoch = int32(r.View().Epoch)
		return ok && len(r.Gates().Gates) == 1
	})
	return h, m, epoch
}

// waiting sends a record that waits for the mirror; its answer comes over the channel.
func (h *house) waiting(value string) <-chan kmsg.ProduceResponseTopicPartition {
	h.t.Helper()
	acked := make(chan kmsg.ProduceResponseTopicPartition, 1)
	c := dial(h.t, h.addrs[0])
	sendRequest(h.t, c, 5, produceRequest("t", -1, oneRecord(plain, value)), 9)
	go func() {
		_, body := readResponse(h.t, c)
		acked <- decodeStrictly(h.t, produceAt(9), body).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	}()
	return acked
}

// TestAPlainMirrorGatesByItsList: R14. It reads above HW, and an ack follows the lowest position of its list.
func TestAPlainMirrorGatesByItsList(t *testing.T) {
	h, m, epoch := bareHouse(t)
	acked := h.waiting("gated")
	var got messages.FetchResponsePartition
	waitFor(t, "the record above HW", func() bool {
		got = m.fetch(list{offset: 1, epoch: epoch, last: epoch, leos: []int64{1, 1}, minISR: 1})
		return len(got.Records) > 0
	})
	if got.HighWatermark != 1 || got.ErrorCode != 0 {
		t.Errorf("HW %d beside %s while the mirror has not got the record", got.HighWatermark, perr.Code(got.ErrorCode))
	}
	for what, l := range map[string]list{
		"an older epoch":        {offset: 2, epoch: epoch - 1, last: epoch, leos: []int64{2, 2}, minISR: 1},
		"no epoch":              {offset: 2, epoch: -1, last: epoch, leos: []int64{2, 2}, minISR: 1},
		"no last fetched epoch": {offset: 2, epoch: epoch, last: -1, leos: []int64{2, 2}, minISR: 1},
		"a future last epoch":   {offset: 2, epoch: epoch, last: epoch + 1, leos: []int64{2, 2}, minISR: 1},
		"beyond our log":        {offset: 3, epoch: epoch, last: epoch, leos: []int64{3, 3}, minISR: 1},
		"a follower behind":     {offset: 2, epoch: epoch, last: epoch, leos: []int64{2, 1}, minISR: 1},
		"under min ISR":         {offset: 2, epoch: epoch, last: epoch, leos: []int64{2, 2}, minISR: 3},
		"no min ISR":            {offset: 2, epoch: epoch, last: epoch, leos: []int64{2, 2}, minISR: 0},
		"an empty ISR":          {offset: 2, epoch: epoch, last: epoch, minISR: 1},
		"no entry of its own":   {offset: 2, epoch: epoch, last: epoch, leos: []int64{2, 2}, minISR: 1, stranger: true},
	} {
		m.fetch(l)
		select {
		case a := <-acked:
			t.Fatalf("%s: acknowledged: %+v", what, a)
		case <-time.After(20 * time.Millisecond):
		}
	}
	m.fetch(list{offset: 2, epoch: epoch, last: epoch, leos: []int64{2, 2}, minISR: 2})
	if a := <-acked; a.ErrorCode != 0 || a.BaseOffset != 1 {
		t.Fatalf("after the list: %+v", a)
	}
}

// TestAListThatIsBehindIsAskedForAgainSoon: F45. Only the next fetch can say that followers have caught up.
func TestAListThatIsBehindIsAskedForAgainSoon(t *testing.T) {
	_, m, epoch := bareHouse(t)
	began := time.Now()
	m.fetch(list{offset: 1, epoch: epoch, last: epoch, leos: []int64{1, 0}, minISR: 1, wait: 20 * time.Second})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("parked for %s", took)
	}
}

// TestAReleasedPlainMirrorReturnsOnlyAfterItWasTold: C3, model K6. Its flag carries no number.
func TestAReleasedPlainMirrorReturnsOnlyAfterItWasTold(t *testing.T) {
	h, m, epoch := bareHouse(t)
	release := func() {
		r := messages.NewPtrUnregisterMirrorSyncTopicRequest()
		r.MirrorName, r.Mode = "bare", modeRelease
		if got := h.raw(1, r, 0).(*messages.UnregisterMirrorSyncTopicResponse); got.ErrorCode != 0 || got.ReleaseNumber == 0 {
			t.Fatalf("release: %+v", got)
		}
	}
	acked := h.waiting("gated")
	release()
	if a := <-acked; a.ErrorCode != 0 {
		t.Fatalf("after the release: %+v", a)
	}
	if code := m.register(true); code != perr.MirrorSyncReleasedRequiresFreshPromotion {
		t.Fatalf("a flag from before anybody was told: %s", code)
	}
	if code := m.register(true); code != perr.None {
		t.Fatalf("told by that refusal, then: %s", code)
	}
	release()
	waitFor(t, "a fetch to be told", func() bool {
		return perr.Code(m.fetch(list{offset: 2, epoch: epoch, last: epoch, leos: []int64{2}, minISR: 1}).ErrorCode) == perr.InvalidSyncRegistration
	})
	waitFor(t, "a flag that comes after it to count", func() bool { return m.register(true) == perr.None })
}

// TestAPlainPeersCommandIsDroppedWithItsConnection: C3. It waits for what the connection asked before, and an
// ended connection begins nothing: a newer command has come on another one since.
func TestAPlainPeersCommandIsDroppedWithItsConnection(t *testing.T) {
	h := newHouse(t, 1)
	m := &bareMirror{h: h, id: h.fill("t", 1, 10)}
	registered := func() bool {
		_, known := h.cluster.Registrations().Look(core.MirrorKey{Mirror: "bare"}, m.id)
		return known
	}
	parked := fetchRequest(1<<20, ask{topic: m.id, offset: 1})
	parked.MaxWaitMs = 60_000
	for range 20 {
		c := dial(t, h.addrs[0])
		sendRequest(t, c, 1, parked, 13)
		sendRequest(t, c, 2, m.registration(false), 0)
		c.Close()
	}
	// Another connection's command is behind them all in whatever queue there is.
	if got := h.raw(1, m.unregistration(), 0).(*messages.UnregisterMirrorSyncTopicResponse); got.ErrorCode != 0 {
		t.Fatalf("unregister: %+v", got)
	}
	settled := make(chan struct{})
	h.cluster.Registration(func(ref core.RequestID) registration.Command { return registration.Describe{Ref: ref} }, func(any) { close(settled) })
	<-settled
	if registered() {
		t.Fatal("a Register that its sender had given up gates this source")
	}
	if code := m.register(false); code != perr.None || !registered() {
		t.Fatalf("the next one: %s", code)
	}
}

// TestAListLeftBehindIsNotBelieved: R14, F07, model V6. A follower with less has joined since it was sent, and the
// connection that says so overtook the one that ended.
func TestAListLeftBehindIsNotBelieved(t *testing.T) {
	h, m, epoch := bareHouse(t)
	acked := h.waiting("gated")
	waitFor(t, "the record above HW", func() bool {
		return len(m.fetch(list{offset: 1, epoch: epoch, last: epoch, leos: []int64{1, 1}, minISR: 1}).Records) > 0
	})
	// Its reader stands still behind a full window of parked fetches; list and end wait in the socket.
	c := dial(t, h.addrs[0]).(*net.TCPConn)
	parked := fetchRequest(1<<20, ask{topic: m.id, offset: 1})
	parked.MaxWaitMs = 300
	for i := range int32(DefaultLimits().Requests + 2) {
		sendRequest(t, c, i, parked, 13)
	}
	sendRequest(t, c, 1000, m.request(list{offset: 2, epoch: epoch, last: epoch, leos: []int64{2, 2}, minISR: 1}), 20)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	m.fetch(list{offset: 2, epoch: epoch, last: epoch, leos: []int64{2, 1}, minISR: 1})
	if n, err := io.Copy(io.Discard, c); err != nil { // the source has read to the end
		t.Fatalf("after %d bytes: %v", n, err)
	}
	select {
	case a := <-acked:
		t.Fatalf("acknowledged by a list that was left behind: %+v", a)
	case <-time.After(50 * time.Millisecond):
	}
	m.fetch(list{offset: 2, epoch: epoch, last: epoch, leos: []int64{2, 2}, minISR: 1})
	if a := <-acked; a.ErrorCode != 0 {
		t.Fatalf("then: %+v", a)
	}
}

// TestAPlainPeersCommandsAreBegunOneAtATime: C3.
func TestAPlainPeersCommandsAreBegunOneAtATime(t *testing.T) {
	h := newHouse(t, 1)
	m := &bareMirror{h: h, id: h.fill("t", 1, 10)}
	c := dial(t, h.addrs[0])
	parked := fetchRequest(1<<20, ask{topic: m.id, offset: 1})
	parked.MaxWaitMs = 60_000
	sendRequest(t, c, 1, parked, 13)
	sendRequest(t, c, 2, m.registration(false), 0)
	sendRequest(t, c, 3, m.unregistration(), 0)
	answered := make(chan int32, 3)
	go func() {
		for range 3 {
			correlation, _ := readResponse(t, c)
			answered <- correlation
		}
	}()
	if _, known := h.cluster.Registrations().Look(core.MirrorKey{Mirror: "bare"}, m.id); known {
		t.Error("begun while an older request of the connection was not answered")
	}
	h.produce("t", values("wakes the fetch", 1))
	for want := int32(1); want <= 3; want++ {
		if got := <-answered; got != want {
			t.Fatalf("answer %d came where %d was due", got, want)
		}
	}
	if entry, _ := h.cluster.Registrations().Look(core.MirrorKey{Mirror: "bare"}, m.id); entry.Epoch != 0 {
		t.Errorf("registered after an Unregister: %+v", entry)
	}
}
