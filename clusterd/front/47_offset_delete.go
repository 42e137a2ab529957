package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// OffsetDelete v0: forgets single positions of a group, except of topics that a member subscribes to.
func (f *Front) offsetDelete(r *kmsg.OffsetDeleteRequest, from Client, slot *Slot) {
	img := f.broker.Image()
	resp := r.ResponseKind().(*kmsg.OffsetDeleteResponse)
	if !f.may(from, access.Delete, access.Group, r.Group) {
		resp.ErrorCode = int16(perr.GroupAuthorizationFailed)
		slot.Reply(resp)
		return
	}
	cmd := group.DeleteOffsets{Group: r.Group}
	var places []*kmsg.OffsetDeleteResponseTopicPartition // of cmd.Positions
	for _, rt := range r.Topics {
		topic, unknown := f.topicFor(from, access.Read, img, rt.Topic, core.TopicID{}, false)
		out := kmsg.OffsetDeleteResponseTopic{Topic: rt.Topic, Partitions: make([]kmsg.OffsetDeleteResponseTopicPartition, len(rt.Partitions))}
		for i, rp := range rt.Partitions {
			at := &out.Partitions[i]
			at.Partition = rp.Partition
			if unknown == perr.TopicAuthorizationFailed {
				at.ErrorCode = int16(unknown)
				continue
			}
			if unknown != perr.None || rp.Partition < 0 || int(rp.Partition) >= len(topic.Partitions) {
				at.ErrorCode = int16(perr.UnknownTopicOrPartition)
				continue
			}
			cmd.Positions = append(cmd.Positions, group.PositionRecord{Topic: rt.Topic, Partition: rp.Partition})
			places = append(places, at)
		}
		resp.Topics = append(resp.Topics, out)
	}
	f.askGroup(r.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, func(reply any, code perr.Code) {
		if code == perr.None {
			deleted := reply.(group.OffsetsDeleted)
			code = deleted.Code
			for i, at := range places {
				at.ErrorCode = int16(deleted.Codes[i])
			}
		}
		if resp.ErrorCode = int16(code); code != perr.None {
			resp.Topics = nil // as Kafka: an error of the group speaks for all of it
		}
		slot.Reply(resp)
	})
}
