package front

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/protocol/perr"
)

// DescribeQuorum v0–2: the volumes of this process are the voters of its control streams (D15), which have one sequence, as
// KRaft's metadata partition has. Who proposes is the process; the controller that Metadata names stands for it, at the end
// of what was proposed. Nobody fetches, so times are unknown. A volume that was lost stands where it was. v2 brings texts
// and nodes; voters have no listeners of their own.

const metadataTopic = "__cluster_metadata"

func (f *Front) describeQuorum(r *kmsg.DescribeQuorumRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DescribeQuorumResponse)
	if !f.mayCluster(from, access.Describe) {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(denial(from, access.Describe, access.Cluster, access.ClusterName))
		slot.Reply(resp)
		return
	}
	for _, rt := range once(r.Topics, func(t kmsg.DescribeQuorumRequestTopic) string { return t.Topic }) {
		out := kmsg.DescribeQuorumResponseTopic{Topic: rt.Topic}
		for _, rp := range once(rt.Partitions, func(p kmsg.DescribeQuorumRequestTopicPartition) int32 { return p.Partition }) {
			at := kmsg.NewDescribeQuorumResponseTopicPartition()
			at.Partition = rp.Partition
			if rt.Topic != metadataTopic || rp.Partition != 0 || !f.fillQuorum(&at) {
				at.LeaderID, at.LeaderEpoch, at.HighWatermark = int32(core.NoReplica), -1, -1
				at.ErrorCode = int16(perr.UnknownTopicOrPartition)
				at.ErrorMessage = text(fmt.Sprintf("%s/%d has no quorum; %s/0 has", rt.Topic, rp.Partition, metadataTopic))
			}
			for _, v := range at.CurrentVoters {
				resp.Nodes = append(resp.Nodes, kmsg.DescribeQuorumResponseNode{NodeID: v.ReplicaID})
			}
			out.Partitions = append(out.Partitions, at)
		}
		resp.Topics = append(resp.Topics, out)
	}
	slot.Reply(resp)
}

// fillQuorum is false where the control streams are on no quorum. Offsets of ends are exclusive.
func (f *Front) fillQuorum(at *kmsg.DescribeQuorumResponseTopicPartition) bool {
	standing, ok := f.cluster.ControlQuorum()
	if !ok {
		return false
	}
	controller := f.broker.Image().Controller
	at.LeaderID, at.LeaderEpoch, at.HighWatermark = int32(controller), int32(standing.Term), standing.Committed+1
	for _, m := range standing.Members {
		voter := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		voter.ReplicaID, voter.LogEndOffset = int32(m.Broker), -1
		switch {
		case m.Broker == controller:
			voter.LogEndOffset = standing.Proposed + 1
		case m.Acked >= 0:
			voter.LogEndOffset = m.Acked + 1
		}
		at.CurrentVoters = append(at.CurrentVoters, voter)
	}
	return true
}
