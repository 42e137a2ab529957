package front

import (
	"fmt"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/registration"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// SupersedeMirrorTopics v0: a destination takes topics over from this source, by a switchover or after a failover (C8).
// The same message travels over the bus.

func (f *Front) supersedeMirrorTopics(r *messages.SupersedeMirrorTopicsRequest, from Client, slot *Slot) {
	if !f.mayCluster(from, access.ClusterAction) {
		resp := r.ResponseKind().(*messages.SupersedeMirrorTopicsResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(denial(from, access.ClusterAction, access.Cluster, access.ClusterName))
		slot.Reply(resp)
		return
	}
	Supersede(f.cluster, r, func(resp *messages.SupersedeMirrorTopicsResponse) { slot.Reply(resp) })
}

// Supersede asks the registration ledger once per topic. A switchover under way holds the answer for up to a second.
// reply runs on the ledger's goroutine, or on the caller's.
func Supersede(c *broker.Cluster, r *messages.SupersedeMirrorTopicsRequest, reply func(*messages.SupersedeMirrorTopicsResponse)) {
	resp := r.ResponseKind().(*messages.SupersedeMirrorTopicsResponse)
	resp.ClusterId = string(c.ID())
	mode := registration.Mode(r.Mode)
	if mode != registration.ModeSwitchover && mode != registration.ModeFailover {
		resp.ErrorCode = int16(perr.InvalidRequest)
		resp.ErrorMessage = text(fmt.Sprintf("mode %d; %d is SWITCHOVER, %d is FAILOVER", r.Mode, registration.ModeSwitchover, registration.ModeFailover))
		reply(resp)
		return
	}
	key := core.MirrorKey{Cluster: core.ClusterID(r.ClusterId), Mirror: core.MirrorName(r.MirrorName)}
	resp.Topics = make([]messages.SupersedeMirrorTopicsResponseTopicResult, len(r.Topics))
	done := countdown(len(r.Topics), func() { reply(resp) })
	for i := range r.Topics {
		t, out := &r.Topics[i], &resp.Topics[i]
		*out = messages.NewSupersedeMirrorTopicsResponseTopicResult()
		out.TopicId, out.TopicName = t.TopicId, t.TopicName
		cmd := registration.SupersedeTopic{Key: key, Topic: t.TopicId, Name: t.TopicName, Generation: core.Generation(t.Generation), Mode: mode, Era: core.Era(t.Era)}
		c.Registration(func(ref core.RequestID) registration.Command { cmd.Ref = ref; return cmd }, func(answer any) {
			defer done()
			switch e := answer.(type) {
			case registration.SupersedeAnswered:
				out.ErrorCode, out.ErrorMessage = int16(e.Code), text(e.Text)
				out.Outcome, out.Era, out.NewestGeneration = int8(e.Outcome), int64(e.Era), int64(e.Newest)
				for _, end := range e.Ends {
					at := messages.NewSupersedeMirrorTopicsResponseEnd()
					at.Partition, at.LeaderEpoch, at.LogEndOffset = end.Partition, int32(end.LeaderEpoch), int64(end.LEO)
					out.Ends = append(out.Ends, at)
				}
			case shell.Failed:
				out.ErrorCode, out.ErrorMessage = int16(perr.CoordinatorNotAvailable), text(e.Text)
			default:
				panic("front: unknown answer to SupersedeTopic")
			}
		})
	}
}
