package front

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
)

// What clients ask for and do not take is held for each of them: consumers far behind, on slow lines, took a gigabyte for
// each twenty. Answers are smaller while others hold much, and none is refused.
func TestAnswersThatAreNotTakenAreBounded(t *testing.T) {
	const clients, records = 40, 40
	h := newHouse(t, 1)
	id := h.fill("t", records, 1<<20-200)
	ask := func() *messages.FetchRequest { return fetchRequest(1<<30, ask{topic: id, maxBytes: 1 << 30}) }
	if p := h.fetch(ask(), 13)[0]; len(p.Records) < records<<20-records*200 {
		t.Errorf("alone, a consumer is answered with %d bytes", len(p.Records))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var conns []net.Conn
	for range clients {
		c := dial(t, h.addrs[0])
		c.SetDeadline(time.Now().Add(time.Minute))
		sendRequest(t, c, 1, ask(), 13)
		conns = append(conns, c)
	}
	answers := h.memory.answers
	sizes := make([][4]byte, clients)
	for i, c := range conns { // each answer is on its way, and no more of it is taken for now
		if _, err := io.ReadFull(c, sizes[i][:]); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	most := int64(answersBytes + clients*answerCopies<<20) // each has its first batch
	if held := answers.Held(); held > most {
		t.Errorf("%d bytes are charged, %d are the most", held, most)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > most+most/4 {
		t.Errorf("%d MiB for %d answers that nobody takes", grown>>20, clients)
	}
	for i, c := range conns {
		body := make([]byte, binary.BigEndian.Uint32(sizes[i][:]))
		if _, err := io.ReadFull(c, body); err != nil {
			t.Fatal(err)
		}
		r := ask()
		r.SetVersion(13)
		if p := decodeStrictly(t, r, body[4:]).(*messages.FetchResponse).Responses[0].Partitions[0]; p.ErrorCode != 0 || len(p.Records) < 1<<20-200 {
			t.Fatalf("an answer of %d bytes", len(p.Records))
		}
	}
	waitFor(t, "all of it to be given back", func() bool { return answers.Held() == 0 })
}

// What a fetch may have is what its partitions may have together, and no more is kept from others while it reads.
func TestAFetchTakesRoomForWhatItMayHave(t *testing.T) {
	f, _, _ := bareFront(t, DefaultLimits())
	for _, c := range []struct {
		partitions []int32
		budget     int
		held       int64 // by others
		charged    int64
		left       int // of the budget
	}{
		{[]int32{1 << 20, 1 << 10}, 50 << 20, 0, 2 * (1<<20 + 1<<10), 50 << 20},
		{[]int32{1 << 30, 1 << 30}, 50 << 20, 0, 100 << 20, 50 << 20},
		{[]int32{1 << 30}, 50 << 20, answersBytes - 40<<20, 20 << 20, 10 << 20},
		{[]int32{1 << 30}, 50 << 20, answersBytes + 1<<20, 2 * leastAnswer, leastAnswer},
		{[]int32{100}, 50 << 20, answersBytes, 200, 50 << 20},
		{[]int32{-1}, -1, 0, 0, -1},
	} {
		q := &fetch{front: f, slot: NewSlot()}
		for _, n := range c.partitions {
			r := &reading{}
			r.asked.PartitionMaxBytes = n
			q.readings = append(q.readings, r)
		}
		f.memory.answers.Force(c.held)
		a := &answer{budget: c.budget}
		if q.takeRoom(a); q.slot.answer != c.charged || a.budget != c.left {
			t.Errorf("%v of %d beside %d: %d are charged and %d left", c.partitions, c.budget, c.held, q.slot.answer, a.budget)
		}
		if q.hold(0); f.memory.answers.Held() != c.held {
			t.Errorf("%d are held after it", f.memory.answers.Held())
		}
		f.memory.answers.Give(c.held)
	}
}

// A few bytes ask for all there is, and a connection may have many questions under way: their answers are composed when they
// are written.
func TestQuestionsAboutEverythingAreAnsweredInTurn(t *testing.T) {
	const partitions, questions = 2000, 60
	h := newHouse(t, 1)
	f := h.fronts[0]
	h.create("t", partitions, 1, nil)
	for name, ask := range map[string]func(*Slot){
		"Metadata": func(slot *Slot) {
			r := kmsg.NewPtrMetadataRequest()
			r.Topics = nil
			f.metadata(r, Client{}, slot)
		},
		"DescribeTopicPartitions": func(slot *Slot) {
			f.describeTopicPartitions(kmsg.NewPtrDescribeTopicPartitionsRequest(), Client{}, slot)
		},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var slots []*Slot
		for range questions {
			slots = append(slots, NewSlot())
			ask(slots[len(slots)-1])
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
			t.Errorf("%s: %d MiB for %d answers that nobody takes", name, grown>>20, questions)
		}
		for _, slot := range slots {
			if resp, ok := slot.Wait(nil); !ok || len(resp.AppendTo(nil)) < partitions*20 {
				t.Fatalf("%s: %T", name, resp)
			}
		}
	}
}
