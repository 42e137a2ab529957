package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// OffsetCommit v2–10. up to v4 a client may say how long offsets are kept, v6 brings leader epochs, v7 static members, v8 is
// flexible, v9 GROUP_ID_NOT_FOUND for a group never seen, v10 topic ids. An answer means that the
// offsets are on a majority of the control volumes.

func (f *Front) offsetCommit(r *kmsg.OffsetCommitRequest, from Client, slot *Slot) {
	img := f.broker.Image()
	resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
	cmd := group.OffsetCommit{Group: r.Group, Generation: r.Generation, MemberID: r.MemberID, InstanceID: r.InstanceID,
		KnowsGroupNotFound: r.Version >= 9}
	if r.Version <= 4 {
		cmd.RetainMs = r.RetentionTimeMillis
	}
	var places []*kmsg.OffsetCommitResponseTopicPartition // of cmd.Offsets
	denied := perr.None
	if !f.may(from, access.Read, access.Group, r.Group) {
		denied = perr.GroupAuthorizationFailed
	}
	for _, rt := range r.Topics {
		topic, unknown := f.topicFor(from, access.Read, img, rt.Topic, rt.TopicID, r.Version >= 10)
		out := kmsg.OffsetCommitResponseTopic{Topic: rt.Topic, TopicID: rt.TopicID,
			Partitions: make([]kmsg.OffsetCommitResponseTopicPartition, len(rt.Partitions))}
		for i, rp := range rt.Partitions {
			at := &out.Partitions[i]
			at.Partition = rp.Partition
			// What is unknown fails alone, the others are stored (compat-G16).
			switch {
			case denied != perr.None:
				at.ErrorCode = int16(denied)
				continue
			case unknown != perr.None:
				at.ErrorCode = int16(unknown)
				continue
			case rp.Partition < 0 || int(rp.Partition) >= len(topic.Partitions):
				at.ErrorCode = int16(perr.UnknownTopicOrPartition)
				continue
			}
			o := group.OffsetToCommit{Topic: topic.Name, TopicID: topic.ID, Partition: rp.Partition,
				Offset: core.Offset(rp.Offset), LeaderEpoch: core.NoEpoch}
			if r.Version >= 6 {
				o.LeaderEpoch = core.LeaderEpoch(rp.LeaderEpoch)
			}
			if rp.Metadata != nil {
				o.Metadata = *rp.Metadata
			}
			cmd.Offsets = append(cmd.Offsets, o)
			places = append(places, at)
		}
		resp.Topics = append(resp.Topics, out)
	}
	if denied != perr.None {
		slot.Reply(resp)
		return
	}
	f.askGroup(r.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, func(reply any, code perr.Code) {
		for i, at := range places {
			if code != perr.None {
				at.ErrorCode = int16(code)
			} else {
				at.ErrorCode = int16(reply.(group.OffsetsCommitted).Codes[i])
			}
		}
		slot.Reply(resp)
	})
}
