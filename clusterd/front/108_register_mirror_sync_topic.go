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

// RegisterMirrorSyncTopic v0: a destination asks this source to gate acks on it. The same message travels
// over the bus, which is why the work is a function of the cluster alone.

func (f *Front) registerMirrorSyncTopic(r *messages.RegisterMirrorSyncTopicRequest, from Client, slot *Slot) {
	if !f.mayCluster(from, access.ClusterAction) {
		slot.Reply(refusedRegister(r, from))
		return
	}
	begin := func() {
		Register(f.cluster, r, func(resp *messages.RegisterMirrorSyncTopicResponse) { slot.Reply(resp) })
	}
	if registerNumbered(r) {
		begin()
		return
	}
	slot.inTurn(begin)
}

// Register asks the registration ledger once per topic and answers when all have been judged. reply runs
// on the ledger's goroutine, or on the caller's.
func Register(c *broker.Cluster, r *messages.RegisterMirrorSyncTopicRequest, reply func(*messages.RegisterMirrorSyncTopicResponse)) {
	resp := r.ResponseKind().(*messages.RegisterMirrorSyncTopicResponse)
	resp.ClusterId = string(c.ID())
	resp.Topics = make([]messages.RegisterMirrorSyncTopicResponseTopicResult, len(r.Topics))
	resp.ProducerIdPrefix = c.ProducerPrefix()
	if refuseSharedPrefix && r.ProducerIdPrefix >= 0 && r.ProducerIdPrefix == resp.ProducerIdPrefix {
		clash(r, resp)
		reply(resp)
		return
	}
	key := core.MirrorKey{Cluster: core.ClusterID(r.ClusterId), Mirror: core.MirrorName(r.MirrorName)}
	done := countdown(len(r.Topics), func() { reply(resp) })
	for i := range r.Topics {
		t, out := &r.Topics[i], &resp.Topics[i]
		*out = messages.NewRegisterMirrorSyncTopicResponseTopicResult()
		out.TopicName, out.TopicId = t.TopicName, t.TopicId
		cmd := registration.RegisterTopic{
			Key: key, Topic: t.TopicId, Name: t.TopicName,
			Generation: core.Generation(t.Generation), Echo: core.ReleaseNumber(t.EchoRelease),
			Recovery: t.RecoveryPromotion, Incarnation: t.DataIncarnation, MinISR: t.MinIsr, Partitions: t.Partitions, Unsynced: t.Unsynced, CanGate: c.CanGate(),
		}
		for _, id := range t.Path {
			cmd.Path = append(cmd.Path, core.ClusterID(id))
		}
		c.Registration(func(ref core.RequestID) registration.Command { cmd.Ref = ref; return cmd }, func(answer any) {
			defer done()
			switch e := answer.(type) {
			case registration.RegisterAnswered:
				out.ErrorCode, out.ErrorMessage = int16(e.Code), text(e.Text)
				out.RegistrationEpoch, out.ReleaseNumber, out.NewestGeneration = int64(e.Epoch), int64(e.Number), int64(e.Newest)
				out.Era = int64(e.Era)
				out.Held = e.Held
				for _, g := range e.Gates {
					at := messages.NewRegisterMirrorSyncTopicResponseGate()
					at.Partition, at.LeaderEpoch, at.GateStart = g.Partition, int32(g.LeaderEpoch), int64(g.Start)
					out.Gates = append(out.Gates, at)
				}
			case shell.Failed:
				out.ErrorCode, out.ErrorMessage = int16(perr.CoordinatorNotAvailable), text(e.Text)
			default:
				panic("front: unknown answer to RegisterTopic")
			}
		})
	}
}

// refusedRegister refuses whoever is no broker of a destination.
func refusedRegister(r *messages.RegisterMirrorSyncTopicRequest, from Client) *messages.RegisterMirrorSyncTopicResponse {
	resp := r.ResponseKind().(*messages.RegisterMirrorSyncTopicResponse)
	for i := range r.Topics {
		out := messages.NewRegisterMirrorSyncTopicResponseTopicResult()
		out.TopicName, out.TopicId = r.Topics[i].TopicName, r.Topics[i].TopicId
		out.ErrorCode, out.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(denial(from, access.ClusterAction, access.Cluster, access.ClusterName))
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// clash refuses a destination that draws producer ids from the same prefix: after a failover its own ids
// would be taken for those of producers it copied, and their first batches for duplicates (C13, M01).
func clash(r *messages.RegisterMirrorSyncTopicRequest, resp *messages.RegisterMirrorSyncTopicResponse) {
	for i := range r.Topics {
		out := &resp.Topics[i]
		*out = messages.NewRegisterMirrorSyncTopicResponseTopicResult()
		out.TopicName, out.TopicId = r.Topics[i].TopicName, r.Topics[i].TopicId
		out.ErrorCode = int16(perr.InvalidSyncRegistration)
		out.ErrorMessage = text(fmt.Sprintf("clusters %s and %s draw producer ids from the same prefix %d: one is a copy of the other's disks; format the destination anew",
			resp.ClusterId, r.ClusterId, r.ProducerIdPrefix))
	}
}
