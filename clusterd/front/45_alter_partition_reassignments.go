package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// AlterPartitionReassignments v0–1: moves replicas to other brokers, changes their number or order, and with a null target
// cancels what is under way. An answer without an error says that it is under way; ListPartitionReassignments tells when
// it is over. Each partition stands for itself. v1 may
// forbid another number of replicas.

func (f *Front) alterPartitionReassignments(r *kmsg.AlterPartitionAssignmentsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	img := f.broker.Image()
	cmd := controller.AlterReassignments{SameFactor: r.Version >= 1 && !r.AllowReplicationFactorChange}
	var at []reassigned
	may := f.mayCluster(from, access.Alter)
	if !may {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(denial(from, access.Alter, access.Cluster, access.ClusterName))
	}
	for i, rt := range r.Topics {
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = rt.Topic
		topic, code := findTopic(img, rt.Topic, core.TopicID{}, false)
		if !may {
			code = perr.ClusterAuthorizationFailed
		}
		for j, rp := range rt.Partitions {
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition = rp.Partition
			if code != perr.None {
				p.ErrorCode, p.ErrorMessage = int16(code), text(code.Message())
			} else {
				e := controller.ReassignmentAlteration{ID: core.PartitionID{Topic: topic.ID, Index: rp.Partition}}
				if rp.Replicas != nil {
					e.Target = []core.ReplicaID{}
				}
				for _, id := range rp.Replicas {
					e.Target = append(e.Target, core.ReplicaID(id))
				}
				cmd.Entries, at = append(cmd.Entries, e), append(at, reassigned{i, j})
			}
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	if !may {
		slot.Reply(resp)
		return
	}
	f.cluster.AlterReassignments(cmd, func(reply any) {
		switch e := reply.(type) {
		case controller.ReassignmentsAnswered:
			for i, result := range e.Results {
				out := &resp.Topics[at[i].topic].Partitions[at[i].partition]
				out.ErrorCode, out.ErrorMessage = int16(result.Code), text(result.Text)
			}
		case shell.Failed:
			resp.ErrorCode, resp.ErrorMessage = int16(perr.RequestTimedOut), text(e.Text)
		default:
			panic("front: unknown answer to AlterReassignments")
		}
		slot.Reply(resp)
	})
}

// reassigned is one partition of a request: indexes of topic and partition.
type reassigned struct{ topic, partition int }
