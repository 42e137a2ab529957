package front

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
)

// TestAnswersNameTheListenerThatWasAsked: a client may reach no other (compat-H10).
func TestAnswersNameTheListenerThatWasAsked(t *testing.T) {
	h := newHouse(t, 2)
	id := h.fill("t", 0, 0)
	h.stop()
	h.listener.Addresses = map[core.ReplicaID]Address{1: {"one", 101}, 2: {"two", 102}}
	h.start()
	h.waitLed("t")
	leader := h.leader("t", 0)
	other := int(3 - leader)
	at := map[int32]string{1: "one:101", 2: "two:102"}
	check := func(what string, node int32, host string, port int32) {
		t.Helper()
		if got := fmt.Sprint(host, ":", port); got != at[node] {
			t.Errorf("%s: broker %d is at %s", what, node, got)
		}
	}
	meta := h.raw(other, kmsg.NewPtrMetadataRequest(), 9).(*kmsg.MetadataResponse)
	for _, b := range meta.Brokers {
		check("Metadata", b.NodeID, b.Host, b.Port)
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey, find.CoordinatorKeys = "g", []string{"g"}
	old := h.raw(other, find, 3).(*kmsg.FindCoordinatorResponse)
	check("FindCoordinator 3", old.NodeID, old.Host, old.Port)
	found := h.raw(other, find, 4).(*kmsg.FindCoordinatorResponse)
	check("FindCoordinator 4", found.Coordinators[0].NodeID, found.Coordinators[0].Host, found.Coordinators[0].Port)
	cluster := h.raw(other, kmsg.NewPtrDescribeClusterRequest(), 1).(*kmsg.DescribeClusterResponse)
	for _, b := range cluster.Brokers {
		check("DescribeCluster", b.NodeID, b.Host, b.Port)
	}
	produced := h.raw(other, produceRequest("t", -1, oneRecord(plain, "v")), 10).(*kmsg.ProduceResponse)
	fetched := h.raw(other, fetchRequest(1<<20, ask{topic: id}), 16).(*messages.FetchResponse)
	if len(meta.Brokers) != 2 || len(cluster.Brokers) != 2 || len(produced.Brokers) != 1 || len(fetched.NodeEndpoints) != 1 {
		t.Fatalf("%+v\n%+v\n%+v\n%+v", meta, cluster, produced, fetched)
	}
	check("Produce", produced.Brokers[0].NodeID, produced.Brokers[0].Host, produced.Brokers[0].Port)
	check("Fetch", fetched.NodeEndpoints[0].NodeId, fetched.NodeEndpoints[0].Host, fetched.NodeEndpoints[0].Port)
}

// waitLed waits until every broker knows a leader of the topic's first partition.
func (h *house) waitLed(topic string) {
	h.t.Helper()
	waitFor(h.t, "a leader of "+topic, func() bool {
		for _, b := range h.cluster.Brokers() {
			img := b.Image()
			if p, ok := img.Partition(core.PartitionID{Topic: img.Names[topic]}); !ok || !img.Brokers[p.Leader].Live {
				return false
			}
		}
		return true
	})
}
