package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/assignor"
	"lockstep/actors/core/group"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// Types of members (ConsumerGroupDescribe v1), by the protocol that they speak.
const (
	classicMember  int8 = 0
	consumerMember int8 = 1
)

// ConsumerGroupDescribe v0–1 (KIP-848). A group of the classic protocol is not found: tools ask DescribeGroups then.
func (f *Front) consumerGroupDescribe(r *kmsg.ConsumerGroupDescribeRequest, from Client, slot *Slot) {
	r.Groups = once(r.Groups, itself)
	resp := r.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	resp.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(r.Groups))
	img := f.broker.Image()
	done := countdown(len(r.Groups), func() { slot.Reply(resp) })
	for i, id := range r.Groups {
		out := &resp.Groups[i]
		*out = kmsg.NewConsumerGroupDescribeResponseGroup()
		out.Group, out.AuthorizedOperations = id, noOperations
		if !f.may(from, access.Describe, access.Group, id) {
			out.ErrorCode, out.ErrorMessage = int16(perr.GroupAuthorizationFailed), text(denial(from, access.Describe, access.Group, id))
			done()
			continue
		}
		f.askGroup(id, func(ref core.RequestID) group.Command {
			return group.DescribeConsumers{Ref: ref, Group: id}
		}, func(reply any, code perr.Code) {
			defer done()
			if code != perr.None {
				out.ErrorCode, out.ErrorMessage = int16(code), text(code.Message())
				return
			}
			d := reply.(group.ConsumersDescribed)
			if !d.Found {
				out.ErrorCode, out.ErrorMessage = int16(perr.GroupIdNotFound), text("Group "+id+" is not a consumer group.")
				return
			}
			if !f.mayDescribeHeld(from, img, d) {
				out.ErrorCode = int16(perr.TopicAuthorizationFailed)
				out.ErrorMessage = text("The group has described topic(s) that the client is not authorized to describe.")
				return
			}
			out.AuthorizedOperations = f.operations(from, access.Group, id, r.IncludeAuthorizedOperations)
			out.State, out.Epoch, out.AssignmentEpoch, out.AssignorName = d.State, d.Epoch, d.TargetEpoch, d.Assignor
			for _, m := range d.Members {
				at := kmsg.NewConsumerGroupDescribeResponseGroupMember()
				at.MemberID, at.InstanceID, at.RackID, at.MemberEpoch = m.Said.Member, m.Said.Instance, m.Said.Rack, m.Epoch
				at.ClientID, at.ClientHost, at.SubscribedTopics, at.SubscribedTopicRegex = m.Said.ClientID, m.Said.ClientHost, m.Said.Topics, text(m.Said.Regex)
				at.Assignment, at.TargetAssignment = named(img, m.Assigned), named(img, m.Target)
				if at.MemberType = consumerMember; len(m.Said.Protocols) > 0 {
					at.MemberType = classicMember
				}
				out.Members = append(out.Members, at)
			}
		})
	}
}

// mayDescribeHeld: who may not describe one of the topics that members have, or are about to have, is not told of the members.
func (f *Front) mayDescribeHeld(from Client, img *image.Image, d group.ConsumersDescribed) bool {
	if !f.access.On {
		return true
	}
	for _, m := range d.Members {
		for _, held := range [...]assignor.Partitions{m.Assigned, m.Target} {
			for id := range held {
				if t, there := img.Topic(id); there && !f.may(from, access.Describe, access.Topic, t.Name) {
					return false
				}
			}
		}
	}
	return true
}

// named adds the names that topics have now; what was deleted since has none and is left out.
func named(img *image.Image, set assignor.Partitions) kmsg.Assignment {
	out := kmsg.NewAssignment()
	for id, partitions := range set {
		if topic, ok := img.Topic(id); ok {
			t := kmsg.NewAssignmentTopicPartition()
			t.TopicID, t.Topic, t.Partitions = id, topic.Name, partitions
			out.TopicPartitions = append(out.TopicPartitions, t)
		}
	}
	return out
}
