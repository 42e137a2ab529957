package front

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/protocol/perr"
)

func (h *house) electPreferred(version int16, topics []kmsg.ElectLeadersRequestTopic) *kmsg.ElectLeadersResponse {
	h.t.Helper()
	r := kmsg.NewPtrElectLeadersRequest()
	r.Topics = topics
	return h.raw(1, r, version).(*kmsg.ElectLeadersResponse)
}

func (h *house) fence(id core.ReplicaID, start bool) {
	h.t.Helper()
	answer := make(chan any, 1)
	if start {
		h.cluster.StartBroker(id, func(a any) { answer <- a })
	} else {
		h.cluster.StopBroker(id, func(a any) { answer <- a })
	}
	if d, ok := (<-answer).(controller.Done); !ok || d.Code != perr.None {
		h.t.Fatalf("broker %d: %+v", id, d)
	}
}

// electAll asks until every partition is led by its preferred leader, and returns how many had to move.
func (h *house) electAll(topics []kmsg.ElectLeadersRequestTopic) (moved int) {
	h.t.Helper()
	for again := time.NewTicker(20 * time.Millisecond); ; {
		late := false
		for _, at := range h.electPreferred(2, topics).Topics[0].Partitions {
			switch perr.Code(at.ErrorCode) {
			case perr.None:
				moved++
			case perr.PreferredLeaderNotAvailable:
				late = true // not in the ISR yet
			case perr.ElectionNotNeeded:
			default:
				h.t.Fatalf("%+v", at)
			}
		}
		if !late {
			return moved
		}
		select {
		case <-again.C:
		case <-h.t.Context().Done():
			h.t.Fatal("the preferred leader never came into sync")
		}
	}
}

// Partitions go back to a broker that was stopped, while a producer writes, and lose nothing: a live leader steps down
// for a replica that may end before it.
func TestPreferredLeadersComeBackUnderLoad(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 3, 3, nil)
	whole := []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0, 1, 2}}}
	for _, at := range h.electPreferred(0, whole).Topics[0].Partitions {
		if at.ErrorCode != int16(perr.ElectionNotNeeded) {
			t.Fatalf("before anything happened: %+v", at)
		}
	}
	topic, _ := h.cluster.Newest().TopicNamed("t")
	first := topic.Partitions[0].Replicas[0]

	producer := h.client(kgo.DefaultProduceTopic("t"))
	stop, acked := make(chan struct{}), make(chan []string)
	go func() {
		var values []string
		for i := 0; ; i++ {
			select {
			case <-stop:
				acked <- values
				return
			default:
			}
			value := fmt.Sprintf("%06d", i)
			if err := producer.ProduceSync(t.Context(), kgo.StringRecord(value)).FirstErr(); err != nil {
				t.Error(err)
			}
			values = append(values, value)
		}
	}()
	moved := 0
	for range 3 {
		h.fence(first, false)
		h.fence(first, true)
		moved += h.electAll(whole)
	}
	close(stop)
	want := <-acked
	topic, _ = h.cluster.Newest().TopicNamed("t")
	for i, p := range topic.Partitions {
		if p.Leader != p.Replicas[0] {
			t.Errorf("t/%d is led by %d of %v", i, p.Leader, p.Replicas)
		}
	}
	if moved < 3 {
		t.Errorf("%d partitions moved back in three rounds", moved)
	}
	got := h.consume("t", len(want))
	slices.Sort(got)
	wantEqual(t, "acknowledged records", got, want)
}
