package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// DescribeProducers v0: whom the logs of partitions know, and which transactions are open in them. Tools ask leaders, or
// any replica by its broker (kafka-transactions.sh find-hanging --broker-id).

func (f *Front) describeProducers(r *kmsg.DescribeProducersRequest, from Client, slot *Slot) {
	img := f.broker.Image()
	resp := r.ResponseKind().(*kmsg.DescribeProducersResponse)
	var waits []func(done func())
	for _, rt := range once(r.Topics, func(t kmsg.DescribeProducersRequestTopic) string { return t.Topic }) {
		topic, unknown := f.topicFor(from, access.Read, img, rt.Topic, core.TopicID{}, false)
		asked := once(rt.Partitions, itself)
		out := kmsg.DescribeProducersResponseTopic{Topic: rt.Topic, Partitions: make([]kmsg.DescribeProducersResponseTopicPartition, len(asked))}
		resp.Topics = append(resp.Topics, out)
		for i, index := range asked {
			at := &out.Partitions[i]
			at.Partition = index
			code := unknown
			if code == perr.None {
				replica, here := f.broker.Replica(core.PartitionID{Topic: topic.ID, Index: index})
				switch {
				case !hasPartition(topic, index):
					code = perr.UnknownTopicOrPartition
				case !here:
					code = perr.NotLeaderOrFollower
				default:
					waits = append(waits, func(done func()) {
						replica.Ask(func(ref core.RequestID) partition.Command { return partition.DescribeProducers{Ref: ref} },
							func(reply any) { describedProducers(at, reply); done() })
					})
				}
			}
			if code != perr.None {
				at.ErrorCode, at.ErrorMessage = int16(code), text(code.Message())
			}
		}
	}
	done := countdown(len(waits), func() { slot.Reply(resp) })
	for _, ask := range waits {
		ask(done)
	}
}

// describedProducers runs on the partition actor's goroutine.
func describedProducers(at *kmsg.DescribeProducersResponseTopicPartition, reply any) {
	switch e := reply.(type) {
	case partition.ProducersDescribed:
		for _, p := range e.Producers {
			at.ActiveProducers = append(at.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
				ProducerID: p.ProducerID, ProducerEpoch: int32(p.Epoch), LastSequence: p.LastSequence, LastTimestamp: p.LastTimestamp,
				CoordinatorEpoch: p.CoordinatorEpoch, CurrentTxnStartOffset: int64(p.TxnStart)})
		}
	case shell.Failed:
		at.ErrorCode, at.ErrorMessage = int16(e.Code), text(e.Text)
	default:
		panic("front: unknown answer to DescribeProducers")
	}
}
