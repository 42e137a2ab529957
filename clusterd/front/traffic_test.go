package front

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func TestTrafficCountsWhatClientsDid(t *testing.T) {
	h := newHouse(t, 1)
	id := core.TopicID(h.create("orders", 1, 1, nil).ID)
	producer := h.client(kgo.DefaultProduceTopic("orders"))
	for range 3 {
		if err := producer.ProduceSync(patient(t), kgo.StringRecord("value")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	consumer := h.client(kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for seen := 0; seen < 3; {
		f := consumer.PollFetches(patient(t))
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		seen += f.NumRecords()
	}
	var at TopicTraffic
	for _, each := range h.traffic.Topics() {
		if each.Topic == id {
			at = each
		}
	}
	if at.RecordsIn != 3 || at.BytesIn < 3*60 || at.BytesOut < at.BytesIn || at.MirrorsBytes != 0 {
		t.Errorf("%+v", at)
	}
	apis := h.traffic.APIs()
	if len(apis) != len(messages.APIs()) {
		t.Errorf("%d apis of %d", len(apis), len(messages.APIs()))
	}
	i := slices.IndexFunc(apis, func(a APITraffic) bool { return a.Name == "Produce" })
	if apis[i].Requests != 3 || apis[i].Took.Count != 3 || apis[i].Took.Sum <= 0 || apis[i].Took.Sum > time.Minute {
		t.Errorf("%+v", apis[i])
	}
	if h.traffic.Connections(1) == 0 {
		t.Error("nobody is connected")
	}
	producer.Close()
	consumer.Close()
	h.stop()
	if n := h.traffic.Connections(1); n != 0 {
		t.Errorf("%d are connected to a closed listener", n)
	}
}

func TestAnErrorThatLeavesTheBatchInTheLogCountsAsBoth(t *testing.T) {
	for code, want := range map[perr.Code]bool{perr.MirrorSyncReplicationTimeout: true, perr.RequestTimedOut: true, perr.NotEnoughRemoteReplicasAfterAppend: true,
		perr.NotEnoughReplicas: false, perr.ReadOnlyTopic: false, perr.NotLeaderOrFollower: false} {
		if appended(code) != want {
			t.Errorf("%s: %v", code.Name(), appended(code))
		}
	}
	tr := &Traffic{}
	tr.refused(messages.KeyProduce, perr.NotEnoughReplicas)
	tr.refused(messages.KeyProduce, perr.NotEnoughReplicas)
	if e := tr.Errors(); len(e) != 1 || e[0] != (APIError{"Produce", perr.NotEnoughReplicas, 2}) {
		t.Errorf("%+v", e)
	}
	var none *Traffic
	none.asked(0)
	none.answered(0, 0)
	none.refused(0, perr.NotEnoughReplicas)
	none.produced([16]byte{}, 1, 1)
	none.fetched(nil, nil, false)
}
