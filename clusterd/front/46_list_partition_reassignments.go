package front

import "github.com/twmb/franz-go/pkg/kmsg"

// ListPartitionReassignments v0: replicas stay where their topic put them, so none is ever under way. As in Kafka,
// partitions without one, and topics that are not there, are left out. kafka-reassign-partitions.sh --list needs it.

func (f *Front) listPartitionReassignments(r *kmsg.ListPartitionReassignmentsRequest, _ Client, slot *Slot) {
	slot.Reply(r.ResponseKind())
}
