package front

import (
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/assignor"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// ConsumerGroupHeartbeat v0–1 (KIP-848). In v0 the coordinator makes the id of a member that has none, v1 brings
// patterns and wants ids that clients made.
func (f *Front) consumerGroupHeartbeat(r *kmsg.ConsumerGroupHeartbeatRequest, from Client, slot *Slot) {
	if code, why := f.judgeBeat(r, from); code != perr.None {
		resp := r.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
		slot.Reply(resp)
		return
	}
	cmd := group.ConsumerBeat{
		Group: r.Group, MemberID: r.MemberID, Epoch: r.MemberEpoch, InstanceID: r.InstanceID, RackID: r.RackID,
		RebalanceMs: int64(r.RebalanceTimeoutMillis), Topics: r.SubscribedTopicNames, Assignor: r.ServerAssignor,
		ClientID: from.ID, ClientHost: clientHost(from), Image: f.broker.Image(), Asker: f.asker(from),
	}
	if r.Version >= 1 {
		cmd.Regex = r.SubscribedTopicRegex
	} else if r.MemberID == "" && r.MemberEpoch == 0 {
		cmd.MemberID = uuid.NewString()
	}
	if r.Topics != nil {
		owned := map[core.TopicID][]int32{}
		for _, t := range r.Topics {
			owned[t.TopicID] = append(owned[t.TopicID], t.Partitions...)
		}
		cmd.Owned = assignor.SetOf(owned)
	}
	f.askGroup(r.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, func(reply any, code perr.Code) {
		resp := r.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		if code != perr.None {
			resp.ErrorCode, resp.ErrorMessage = int16(code), text(code.Message())
			slot.Reply(resp)
			return
		}
		b := reply.(group.ConsumerBeaten)
		resp.ErrorCode, resp.ErrorMessage = int16(b.Code), text(b.Text)
		resp.MemberID, resp.MemberEpoch, resp.HeartbeatIntervalMillis = text(b.MemberID), b.Epoch, int32(b.HeartbeatMs)
		if b.Assigned {
			a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
			for t, partitions := range b.Assignment {
				a.Topics = append(a.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: t, Partitions: partitions})
			}
			resp.Assignment = &a
		}
		if b.Code == perr.CoordinatorLoadInProgress {
			f.log.Warn("a member was not admitted", "group", r.Group, "client", from.ID, "address", from.Addr, "code", b.Code.Name(), "reason", b.Text)
		}
		slot.Reply(resp)
	})
}

// judgeBeat says why a beat is not the group's to judge. A member names only topics that it may describe.
func (f *Front) judgeBeat(r *kmsg.ConsumerGroupHeartbeatRequest, from Client) (perr.Code, string) {
	switch {
	case f.finalized(f.broker.Image(), "group.version") < 1:
		return perr.UnsupportedVersion, "the consumer protocol is off here: group.version is 0"
	case !f.may(from, access.Read, access.Group, r.Group):
		return perr.GroupAuthorizationFailed, denial(from, access.Read, access.Group, r.Group)
	}
	for _, topic := range r.SubscribedTopicNames {
		if !f.may(from, access.Describe, access.Topic, topic) {
			return perr.TopicAuthorizationFailed, denial(from, access.Describe, access.Topic, topic)
		}
	}
	return perr.None, ""
}
