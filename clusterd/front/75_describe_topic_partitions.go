package front

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// DescribeTopicPartitions v0 (KIP-966): topics in pages, so that neither side holds all of a large cluster at once. Topics
// come sorted by name; the cursor names the first partition of the next page. Java tries it before Metadata, and trips over
// null eligible leader replicas, which the schema allows: there are none here, so the lists are empty.

// maxPagePartitions is Kafka's max.request.partition.size.limit.
const maxPagePartitions = 2000

func (f *Front) describeTopicPartitions(r *kmsg.DescribeTopicPartitionsRequest, from Client, slot *Slot) {
	slot.Turn(func() (kmsg.Response, bool) { return f.describePage(r, from), true })
}

func (f *Front) describePage(r *kmsg.DescribeTopicPartitionsRequest, from Client) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	img := f.broker.Image()
	all := len(r.Topics) == 0
	var names []string
	if all {
		for _, t := range img.Topics {
			names = append(names, t.Name)
		}
	}
	for _, rt := range r.Topics {
		names = append(names, rt.Topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	ops := func(topic string) int32 { return f.operations(from, access.Topic, topic, true) }
	if r.Cursor != nil {
		if r.Cursor.Partition < 0 || !all && !slices.Contains(names, r.Cursor.Topic) {
			for _, name := range names {
				if !all {
					resp.Topics = append(resp.Topics, unknownTopicPartitions(name, perr.InvalidRequest, ops(name)))
				}
			}
			return resp
		}
		names = slices.DeleteFunc(names, func(name string) bool { return strings.Compare(name, r.Cursor.Topic) < 0 })
	}
	var denied []string
	names = slices.DeleteFunc(names, func(name string) bool {
		if all {
			return !f.sees(from, access.Describe, access.Topic, name)
		}
		may := f.may(from, access.Describe, access.Topic, name)
		if !may {
			denied = append(denied, name)
		}
		return !may
	})
	// A page holds something, whatever limit was asked for: a client that follows the cursor arrives.
	room := min(max(int(r.ResponsePartitionLimit), 1), maxPagePartitions)
	for _, name := range names {
		first := 0
		if r.Cursor != nil && name == r.Cursor.Topic {
			first = int(r.Cursor.Partition)
		}
		if room == 0 {
			resp.NextCursor = cursorAt(name, first)
			break
		}
		t, code := findTopic(img, name, core.TopicID{}, false)
		if code != perr.None {
			if !legalName(name) {
				code = perr.InvalidTopicException
			}
			resp.Topics = append(resp.Topics, unknownTopicPartitions(name, code, ops(name)))
			continue
		}
		first = min(first, len(t.Partitions))
		end := min(first+room, len(t.Partitions))
		resp.Topics = append(resp.Topics, pageOf(img, t, first, end, ops(name)))
		room -= end - first
		if end < len(t.Partitions) {
			resp.NextCursor = cursorAt(name, end)
			break
		}
	}
	for _, name := range denied { // on every page that is asked for them, as in Kafka
		resp.Topics = append(resp.Topics, unknownTopicPartitions(name, perr.TopicAuthorizationFailed, noOperations))
	}
	return resp
}

func cursorAt(topic string, partition int) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	return &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: topic, Partition: int32(partition)}
}

func unknownTopicPartitions(name string, code perr.Code, ops int32) kmsg.DescribeTopicPartitionsResponseTopic {
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.ErrorCode, out.AuthorizedOperations = &name, int16(code), ops
	return out
}

// pageOf describes the partitions from first to end, exclusive.
func pageOf(img *image.Image, t *image.Topic, first, end int, ops int32) kmsg.DescribeTopicPartitionsResponseTopic {
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	name := t.Name
	out.Topic, out.TopicID, out.AuthorizedOperations = &name, t.ID, ops
	for i := first; i < end; i++ {
		p := t.Partitions[i]
		at := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		at.Partition, at.LeaderID, at.LeaderEpoch = int32(i), int32(p.Leader), int32(p.LeaderEpoch)
		at.Replicas, at.ISR, at.OfflineReplicas = replicaIDs(p.Replicas), replicaIDs(p.ISR), offlineReplicas(img, p)
		at.EligibleLeaderReplicas, at.LastKnownELR = []int32{}, []int32{}
		if !img.Brokers[p.Leader].Live {
			at.LeaderID = int32(core.NoReplica)
		}
		out.Partitions = append(out.Partitions, at)
	}
	return out
}
