package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

// OffsetForLeaderEpoch v2–4: librdkafka sends exactly v2 (compat-K5), v4 is flexible.

func (f *Front) offsetForLeaderEpoch(r *kmsg.OffsetForLeaderEpochRequest, from Client, slot *Slot) {
	img := f.broker.Image()
	resp := r.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	all := f.seesCluster(from, access.ClusterAction)
	for _, rt := range r.Topics {
		topic, unknown := findTopic(img, rt.Topic, core.TopicID{}, false)
		if !all && !f.may(from, access.Describe, access.Topic, rt.Topic) {
			unknown = perr.TopicAuthorizationFailed
		}
		out := kmsg.NewOffsetForLeaderEpochResponseTopic()
		out.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			at := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			at.Partition, at.LeaderEpoch, at.EndOffset = rp.Partition, -1, -1
			code := unknown
			if code == perr.None {
				_, view, notHere := f.leaderHere(topic, rp.Partition)
				if code = notHere; code == perr.None {
					code = fenceEpoch(view, rp.CurrentLeaderEpoch)
				}
				if code == perr.None {
					epoch, end := partition.EndOffsetForEpoch(view, core.LeaderEpoch(rp.LeaderEpoch))
					at.LeaderEpoch, at.EndOffset = int32(epoch), int64(end)
				}
			}
			at.ErrorCode = int16(code)
			out.Partitions = append(out.Partitions, at)
		}
		resp.Topics = append(resp.Topics, out)
	}
	slot.Reply(resp)
}
