package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/actors/core/transaction"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// TxnOffsetCommit v0–6, asked of the group's coordinator. v2 brings leader epochs, v3 is flexible and names the member,
// v4 TRANSACTION_ABORTABLE, v5 adds the group to the transaction by itself, v6 names topics by id. The offsets are stored
// while the answer of the transaction's coordinator is given, so they are ahead of its end.

func (f *Front) txnOffsetCommit(r *kmsg.TxnOffsetCommitRequest, from Client, slot *Slot) {
	img := f.broker.Image()
	resp := r.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	if r.Version < 3 {
		r.Generation, r.MemberID, r.InstanceID = -1, "", nil
	}
	cmd := group.TxnOffsetCommit{Group: r.Group, ProducerID: r.ProducerID, Generation: r.Generation, MemberID: r.MemberID, InstanceID: r.InstanceID}
	var places []*int16 // of cmd.Offsets
	denied := perr.None
	switch {
	case !f.may(from, access.Write, access.TransactionalID, r.TransactionalID):
		denied = perr.TransactionalIdAuthorizationFailed
	case !f.may(from, access.Read, access.Group, r.Group):
		denied = perr.GroupAuthorizationFailed
	}
	for _, rt := range r.Topics {
		topic, unknown := f.topicFor(from, access.Read, img, rt.Topic, rt.TopicID, r.Version >= 6)
		out := kmsg.TxnOffsetCommitResponseTopic{Topic: rt.Topic, TopicID: rt.TopicID, Partitions: make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(rt.Partitions))}
		for i, rp := range rt.Partitions {
			at := &out.Partitions[i]
			at.Partition = rp.Partition
			switch {
			case denied != perr.None:
				at.ErrorCode = int16(denied)
				continue
			case unknown != perr.None:
				at.ErrorCode = int16(unknown)
				continue
			case !hasPartition(topic, rp.Partition):
				at.ErrorCode = int16(perr.UnknownTopicOrPartition)
				continue
			}
			o := group.OffsetToCommit{Topic: topic.Name, TopicID: topic.ID, Partition: rp.Partition, Offset: core.Offset(rp.Offset), LeaderEpoch: core.NoEpoch}
			if r.Version >= 2 {
				o.LeaderEpoch = core.LeaderEpoch(rp.LeaderEpoch)
			}
			if rp.Metadata != nil {
				o.Metadata = *rp.Metadata
			}
			cmd.Offsets = append(cmd.Offsets, o)
			places = append(places, &at.ErrorCode)
		}
		resp.Topics = append(resp.Topics, out)
	}
	refuse := func(code perr.Code) {
		for _, p := range places {
			*p = int16(perr.ForVersion(messages.KeyTxnOffsetCommit, r.Version, code))
		}
		slot.Reply(resp)
	}
	switch {
	case denied != perr.None:
		slot.Reply(resp)
		return
	case r.Group == "":
		refuse(perr.InvalidGroupId)
		return
	case r.TransactionalID == "":
		refuse(perr.InvalidRequest)
		return
	case f.cluster.GroupOwner(img, r.Group) != f.broker.ID():
		refuse(perr.NotCoordinator)
		return
	}
	f.cluster.Transaction(r.TransactionalID, func(ref core.RequestID) transaction.Command {
		return transaction.AddPartitions{Ref: ref, ID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch,
			Groups: []string{r.Group}, Verify: r.Version < 5}
	}, func(reply any) {
		a, ok := reply.(transaction.PartitionsAnswered)
		if !ok {
			refuse(perr.CoordinatorLoadInProgress)
			return
		}
		f.toldOperator(r.TransactionalID, a)
		if code := verified(messages.KeyTxnOffsetCommit, r.Version, 4, 5, a); code != perr.None {
			refuse(code)
			return
		}
		f.cluster.Group(r.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, func(reply any) {
			switch e := reply.(type) {
			case group.OffsetsCommitted:
				for i, p := range places {
					*p = int16(e.Codes[i])
				}
				slot.Reply(resp)
			case shell.Failed:
				refuse(perr.NotCoordinator)
			default:
				panic("front: unknown answer to TxnOffsetCommit")
			}
		})
	})
}
