package front

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// DeleteRecords v0–2. v2 is flexible. The leader gives up what lies below an offset, -1 for HW; the answer leaves when every
// live replica has, with the lowest log start among them, or with REQUEST_TIMED_OUT. Mirrors follow with their next fetch.

func (f *Front) deleteRecords(r *kmsg.DeleteRecordsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DeleteRecordsResponse)
	img := f.broker.Image()
	until := time.Now().Add(patience(r.TimeoutMillis))
	named := map[namedPartition]int{}
	for _, rt := range r.Topics {
		for _, rp := range rt.Partitions {
			named[namedPartition{rt.Topic, rp.Partition}]++
		}
	}
	var asks []func(done func())
	for _, rt := range r.Topics {
		topic, unknown := f.topicFor(from, access.Delete, img, rt.Topic, core.TopicID{}, false)
		out := kmsg.DeleteRecordsResponseTopic{Topic: rt.Topic, Partitions: make([]kmsg.DeleteRecordsResponseTopicPartition, len(rt.Partitions))}
		resp.Topics = append(resp.Topics, out)
		for i, rp := range rt.Partitions {
			at := &out.Partitions[i]
			at.Partition, at.LowWatermark = rp.Partition, -1
			code := unknown
			var replica *broker.Replica
			switch {
			case code == perr.TopicAuthorizationFailed:
			case named[namedPartition{rt.Topic, rp.Partition}] > 1:
				code = perr.InvalidRequest
			case code == perr.None:
				replica, code = f.deletesHere(topic, rp.Partition)
			}
			if code != perr.None {
				at.ErrorCode = int16(code)
				continue
			}
			asks = append(asks, func(done func()) {
				replica.Ask(func(ref core.RequestID) partition.Command {
					return partition.DeleteRecords{Ref: ref, Before: core.Offset(rp.Offset)}
				}, func(reply any) { f.deletedRecords(at, r.Version, replica.ID(), reply, until, done) })
			})
		}
	}
	done := countdown(len(asks), func() { slot.Reply(resp) })
	for _, ask := range asks {
		ask(done)
	}
}

// namedPartition is a partition as clients name it.
type namedPartition struct {
	topic string
	index int32
}

// deletesHere is the leader of a partition here, if its topic gives records up at all.
func (f *Front) deletesHere(t *image.Topic, index int32) (*broker.Replica, perr.Code) {
	replica, _, code := f.leaderHere(t, index)
	if code == perr.None && !f.rulesOf(t).deletes {
		code = perr.PolicyViolation
	}
	return replica, code
}

// deletedRecords runs on the partition actor's goroutine.
func (f *Front) deletedRecords(at *kmsg.DeleteRecordsResponseTopicPartition, version int16, id core.PartitionID, reply any, until time.Time, done func()) {
	switch e := reply.(type) {
	case partition.RecordsDeleted:
		if e.Code == perr.None {
			f.whenDeleted(at, id, e.LogStart, until, done)
			return
		}
		f.log.Info("records are not deleted", "partition", id.String(), "code", e.Code.String(), "reason", e.Text)
		at.ErrorCode = int16(perr.ForVersion(messages.KeyDeleteRecords, version, e.Code))
	case shell.Failed:
		at.ErrorCode = int16(e.Code)
	default:
		panic("front: unknown answer to DeleteRecords")
	}
	done()
}

// whenDeleted calls done when the log of every live replica begins at start or above, or when the client's time is over.
func (f *Front) whenDeleted(at *kmsg.DeleteRecordsResponseTopicPartition, id core.PartitionID, start core.Offset, until time.Time, done func()) {
	const step = 5 * time.Millisecond
	low := f.cluster.LowWatermark(id)
	at.LowWatermark = int64(low)
	switch {
	case low >= start:
	case low == core.Unknown: // the topic is gone, or its leader is
		at.ErrorCode = int16(perr.NotLeaderOrFollower)
	case !time.Now().Before(until):
		at.ErrorCode = int16(perr.RequestTimedOut)
	default:
		time.AfterFunc(step, func() { f.whenDeleted(at, id, start, until, done) })
		return
	}
	done()
}
