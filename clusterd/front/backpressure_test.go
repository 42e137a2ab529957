package front

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// TestWhatReleasesProducesDoesNotWaitBehindThem: D26. With the memory of the process full of produces
// that wait for a mirror, the next produce is not read, and the mirror's fetch that lets them go is.
func TestWhatReleasesProducesDoesNotWaitBehindThem(t *testing.T) {
	h := newHouse(t, 1)
	h.memory = NewMemory(1500) // room for one of the produces below
	h.restart()
	id := h.fill("t", 1, 10)
	m := &farMirror{h: h, data: [16]byte{1}}
	reg := m.register("t", id, 0)
	gated := func(offset, floor int64) (p messages.FetchResponsePartition) {
		return m.fetch(1, id, reg.RegistrationEpoch, offset, floor, 0)
	}
	waitFor(t, "the gate", func() bool { p := gated(1, 1); return p.Evidence != nil && p.Evidence.Gating })
	records := oneRecord(plain, strings.Repeat("x", 1000))
	first, second := dial(t, h.addrs[0]), dial(t, h.addrs[0])
	sendRequest(t, first, 1, produceRequest("t", -1, records), 9)
	waitFor(t, "the first produce in the log", func() bool { return len(gated(1, 1).Records) > 0 })
	one := len(gated(1, 1).Records)
	sendRequest(t, second, 2, produceRequest("t", -1, records), 9)
	<-time.After(50 * time.Millisecond) // time enough to be read, if nothing held it back
	if got := len(gated(1, 1).Records); got != one {
		t.Errorf("%d bytes are in the log: the second produce was read although the memory is full", got)
	}
	gated(2, 2)
	if got, _ := readResponse(t, first); got != 1 {
		t.Fatalf("answer %d", got)
	}
	waitFor(t, "the second produce in the log", func() bool { return len(gated(2, 2).Records) > 0 })
	gated(3, 3)
	if got, _ := readResponse(t, second); got != 2 {
		t.Fatalf("answer %d", got)
	}
}

// TestAnnouncedFramesHoldUpNobody: peers that announce produces and send a few bytes of them took the memory of the
// process for a minute, and every producer waited.
func TestAnnouncedFramesHoldUpNobody(t *testing.T) {
	h := newHouse(t, 1)
	h.memory = NewMemory(64 << 20)
	h.restart()
	h.create("t", 1, 1, nil)
	announce := func(size int) {
		c := dial(t, h.addrs[0])
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(size)), 0, 0, 0, 9, 0, 0, 0, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		announce(20 << 20)
	}
	for range 80 {
		announce(smallProduce)
	}
	waitFor(t, "the announced frames", func() bool { return h.memory.Held() == 20<<20 && h.fronts[0].inFlight() == 81 })
	for i := range 20 {
		if got := h.produceOnce("t", 9, -1, oneRecord(plain, "v")); got.ErrorCode != 0 {
			t.Fatalf("produce %d: %s", i, perr.Code(got.ErrorCode))
		}
	}
}

// TestAFullWindowStopsReading: the 65th request of a connection stays in the socket until the first is
// answered (D8, D26), and other connections do not notice.
func TestAFullWindowStopsReading(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 0, 0)
	poll := fetchRequest(1<<20, ask{topic: id})
	poll.MaxWaitMs = 8000
	c := dial(t, h.addrs[0])
	for i := range int32(100) {
		sendRequest(t, c, i, poll, 13)
	}
	// One is with the writer, 64 wait in the window, and one was read and waits to enter it.
	most := int64(h.limits.Requests) + 2
	waitFor(t, "a full window", func() bool { return h.fronts[0].inFlight() == most })
	if got := h.produceOnce("t", 9, -1, oneRecord(plain, "v")); got.ErrorCode != 0 {
		t.Fatal(perr.Code(got.ErrorCode))
	}
	for i := range int32(100) {
		if got, _ := readResponse(t, c); got != i {
			t.Fatalf("answer %d came in the place of %d", got, i)
		}
	}
}

// TestAStoppedBrokerMovesItsClients: a stock producer goes on through the stop of every broker in turn, and
// nothing acknowledged is lost or doubled.
func TestAStoppedBrokerMovesItsClients(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 3, 3, nil)
	c := h.client(kgo.DefaultProduceTopic("t"), kgo.ProducerLinger(0))
	var sent []*kgo.Record
	ctx := patient(t)
	round := func(name string) {
		records := values(name, 50)
		if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sent = append(sent, records...)
	}
	round("before")
	for id := 1; id <= 3; id++ {
		h.stopBroker(id)
		round("without-" + string(rune('0'+id)))
		h.startBroker(id)
		round("with-" + string(rune('0'+id)))
	}
	wantEqual(t, "after three stops", h.consume("t", len(sent)), sortedValues(sent))
}

func (h *house) startBroker(id int) {
	h.t.Helper()
	done := make(chan any, 1)
	h.cluster.StartBroker(core.ReplicaID(id), func(reply any) { done <- reply })
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		h.t.Fatal("the broker does not start")
	}
	waitFor(h.t, "every replica in sync", func() bool {
		for _, t := range h.cluster.Newest().Topics {
			for _, p := range t.Partitions {
				if len(p.ISR) != len(p.Replicas) {
					return false
				}
			}
		}
		return true
	})
}
