package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/protocol/perr"
)

// FindCoordinator v0–6. v1 brings kinds of coordinators, v3 is flexible, v4 many keys at once, v5 and v6
// only new errors and kinds. Version 0 must be shown: old librdkafka infers features from it.

const (
	coordinatorGroup int8 = 0
	coordinatorTxn   int8 = 1
)

func (f *Front) findCoordinator(r *kmsg.FindCoordinatorRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if r.Version < 4 {
		c := f.coordinatorOf(r.CoordinatorType, r.CoordinatorKey, from)
		resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
		slot.Reply(resp)
		return
	}
	for _, key := range once(r.CoordinatorKeys, itself) {
		resp.Coordinators = append(resp.Coordinators, f.coordinatorOf(r.CoordinatorType, key, from))
	}
	slot.Reply(resp)
}

func (f *Front) coordinatorOf(kind int8, key string, from Client) kmsg.FindCoordinatorResponseCoordinator {
	out := kmsg.NewFindCoordinatorResponseCoordinator()
	out.Key, out.NodeID, out.Port = key, -1, -1
	refuse := func(code perr.Code, why string) kmsg.FindCoordinatorResponseCoordinator {
		out.ErrorCode, out.ErrorMessage = int16(code), text(why)
		return out
	}
	img := f.broker.Image()
	var owner core.ReplicaID
	switch {
	case kind == coordinatorGroup && !f.may(from, access.Describe, access.Group, key):
		return refuse(perr.GroupAuthorizationFailed, denial(from, access.Describe, access.Group, key))
	case kind == coordinatorTxn && !f.may(from, access.Describe, access.TransactionalID, key):
		return refuse(perr.TransactionalIdAuthorizationFailed, denial(from, access.Describe, access.TransactionalID, key))
	case kind == coordinatorTxn && key == "":
		return refuse(perr.InvalidRequest, "the transactional id is empty")
	case kind == coordinatorTxn:
		owner = f.cluster.TransactionOwner(img, key)
	case kind != coordinatorGroup:
		return refuse(perr.InvalidRequest, "only consumer groups and transactional ids have coordinators here")
	case key == "":
		return refuse(perr.InvalidGroupId, perr.InvalidGroupId.Message())
	default:
		owner = f.cluster.GroupOwner(img, key)
	}
	b, ok := img.Brokers[owner]
	if owner == core.NoReplica || !ok {
		return refuse(perr.CoordinatorNotAvailable, "no broker is live")
	}
	out.NodeID = int32(b.ID)
	out.Host, out.Port = from.at.told(b)
	return out
}
