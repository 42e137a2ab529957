package front

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// ListPartitionReassignments v0: what is under way, of all topics or of those that are named. As in Kafka, partitions
// without a reassignment, and topics that are not there, are left out.

func (f *Front) listPartitionReassignments(r *kmsg.ListPartitionReassignmentsRequest, from Client, slot *Slot) {
	if !f.mayCluster(from, access.Describe) {
		resp := r.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(denial(from, access.Describe, access.Cluster, access.ClusterName))
		slot.Reply(resp)
		return
	}
	slot.Turn(func() (kmsg.Response, bool) { return f.listReassignments(r), true })
}

func (f *Front) listReassignments(r *kmsg.ListPartitionReassignmentsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	img := f.cluster.Newest() // who asks whether it is over asks for the whole cluster
	list := func(t *image.Topic, wanted func(int32) bool) {
		out := kmsg.NewListPartitionReassignmentsResponseTopic()
		out.Topic = t.Name
		for i, p := range t.Partitions {
			if len(p.Adding)+len(p.Removing) == 0 || !wanted(int32(i)) {
				continue
			}
			at := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			at.Partition, at.Replicas = int32(i), replicaIDs(p.Replicas)
			at.AddingReplicas, at.RemovingReplicas = replicaIDs(p.Adding), replicaIDs(p.Removing)
			out.Partitions = append(out.Partitions, at)
		}
		if len(out.Partitions) > 0 {
			resp.Topics = append(resp.Topics, out)
		}
	}
	if r.Topics == nil {
		for _, t := range img.Topics {
			list(t, func(int32) bool { return true })
		}
		slices.SortFunc(resp.Topics, func(a, b kmsg.ListPartitionReassignmentsResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
		return resp
	}
	asked := map[core.TopicID]map[int32]bool{}
	var topics []*image.Topic
	for _, rt := range r.Topics {
		t, code := findTopic(img, rt.Topic, core.TopicID{}, false)
		if code != perr.None {
			continue
		}
		if asked[t.ID] == nil {
			asked[t.ID] = map[int32]bool{}
			topics = append(topics, t)
		}
		for _, p := range rt.Partitions {
			asked[t.ID][p] = true
		}
	}
	for _, t := range topics {
		list(t, func(p int32) bool { return asked[t.ID][p] })
	}
	return resp
}
