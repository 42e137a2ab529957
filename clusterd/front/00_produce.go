package front

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Produce v3–14. v5 brings the log start, v7 zstd, v8 per-record errors and texts, v9 is flexible, v10
// leader hints, v11 TRANSACTION_ABORTABLE, v12 adds partitions to transactions by itself, v13 topic ids, v14 the two errors of synchronous mirroring: older versions get them
// mapped down, with the same text naming the mirror (D29).
//
// The batch is checked once, here; the partition actor fences, orders and appends; the HW actor decides
// when, and with what error, the answer comes.

// produce is one request on its way: the answer leaves when the last partition has answered.
type produce struct {
	version int16
	acks    int16
	slot    *Slot
	traffic *Traffic
	img     *image.Image
	now     core.Now
	at      *Listener

	mu      sync.Mutex
	resp    *kmsg.ProduceResponse
	pending int
	failed  bool
}

func (f *Front) produce(r *kmsg.ProduceRequest, from Client, slot *Slot) {
	p := &produce{version: r.Version, acks: r.Acks, slot: slot, traffic: f.traffic, img: f.broker.Image(), now: f.cluster.Now(), at: from.at,
		resp: r.ResponseKind().(*kmsg.ProduceResponse), pending: 1}
	denied := f.mayNotWriteTransactions(r, from)
	for i := range r.Topics {
		rt := &r.Topics[i]
		topic, unknown := f.topicFor(from, access.Write, p.img, rt.Topic, rt.TopicID, r.Version >= 13)
		if denied {
			unknown = perr.TransactionalIdAuthorizationFailed
		}
		at := kmsg.ProduceResponseTopic{Topic: rt.Topic, TopicID: rt.TopicID,
			Partitions: make([]kmsg.ProduceResponseTopicPartition, len(rt.Partitions))}
		p.resp.Topics = append(p.resp.Topics, at)
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			out := &at.Partitions[j]
			*out = kmsg.NewProduceResponseTopicPartition()
			out.Partition = rp.Partition
			out.BaseOffset, out.LogAppendTime, out.LogStartOffset = -1, -1, -1
			if unknown != perr.None {
				p.refuse(out, unknown, "")
				continue
			}
			f.append(p, r, topic, rp, out, from)
		}
	}
	p.finish()
}

// mayNotWriteTransactions: with one transactional batch the request is refused as a whole, whatever else it carries.
func (f *Front) mayNotWriteTransactions(r *kmsg.ProduceRequest, from Client) bool {
	if !f.access.On || r.TransactionID != nil && f.may(from, access.Write, access.TransactionalID, *r.TransactionID) {
		return false
	}
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			if b, _, err := batch.Parse(r.Topics[i].Partitions[j].Records); err == nil && b.IsTransactional() {
				return true
			}
		}
	}
	return false
}

// patience is 90 % of what the client said it will wait, so that it hears the reason (R10).
func patience(timeoutMs int32) time.Duration {
	whole := time.Duration(max(timeoutMs, 0)) * time.Millisecond
	if !answerBeforeClientGivesUp {
		return whole
	}
	return whole * 9 / 10
}

// append checks one partition's batch and hands it to the leader's actor.
func (f *Front) append(p *produce, r *kmsg.ProduceRequest, topic *image.Topic, rp *kmsg.ProduceRequestTopicPartition,
	out *kmsg.ProduceResponseTopicPartition, from Client) {
	replica, view, code := f.leaderHere(topic, rp.Partition)
	switch {
	case r.Acks < -1 || r.Acks > 1:
		p.refuse(out, perr.InvalidRequiredAcks, "acks must be -1, 0 or 1")
		return
	case code != perr.None:
		p.hintLeader(out, topic, rp.Partition, view)
		p.refuse(out, code, "")
		return
	}
	rules := f.rulesOf(topic)
	b, bad := batch.Produced(rp.Records, rules.at(p.now.Wall, r.Version))
	switch {
	case bad != nil:
		// The batch is refused whole; the list tells the client which records it owes that to (compat-P03).
		for _, record := range bad.Records {
			out.ErrorRecords = append(out.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{
				RelativeOffset: record.Index, ErrorMessage: text(record.Text)})
		}
		p.refuse(out, bad.Code, bad.Text)
		return
	case b.IsTransactional() && (r.TransactionID == nil || *r.TransactionID == ""):
		p.refuse(out, perr.TransactionalIdAuthorizationFailed, "a transactional record batch needs a transactional id in its request")
		return
	}
	deadline := p.now.Mono + patience(r.TimeoutMillis).Nanoseconds()
	p.mu.Lock()
	p.pending++
	p.mu.Unlock()
	ask := func(inTxn bool) {
		replica.Ask(func(ref core.RequestID) partition.Command {
			return partition.AppendBatch{Ref: ref, Batch: b, Acks: r.Acks, Deadline: deadline, Client: from.ID, Weak: rules.weak, InTxn: inTxn}
		}, func(reply any) {
			p.answered(out, reply, b, topic.ID)
			p.finish()
		})
	}
	if !b.IsTransactional() {
		ask(false)
		return
	}
	f.inTxn(p.version, *r.TransactionID, b, topic, rp.Partition, view, ask, func(code perr.Code, why string) {
		p.refuse(out, code, why)
		p.finish()
	})
}

// answered writes down what became of one batch. It runs on the partition actor's goroutine.
func (p *produce) answered(out *kmsg.ProduceResponseTopicPartition, reply any, b batch.Batch, topic core.TopicID) {
	switch e := reply.(type) {
	case partition.AckProduce:
		p.mu.Lock()
		out.BaseOffset, out.LogStartOffset, out.LogAppendTime = int64(e.Base), int64(e.LogStart), e.LogAppendTime
		p.mu.Unlock()
		p.traffic.produced(topic, b.Records, len(b.Bytes))
	case partition.RefuseProduce:
		if appended(e.Code) {
			p.traffic.produced(topic, b.Records, len(b.Bytes))
		}
		if e.Code == perr.InvalidTxnState && b.IsTransactional() && p.version >= abortableProduce {
			e.Code = perr.TransactionAbortable // the transaction ended while the batch was on its way
		}
		p.refuse(out, e.Code, e.Text)
	case shell.Failed:
		p.refuse(out, e.Code, e.Text)
	default:
		panic("front: unknown answer to AppendBatch")
	}
}

// refuse maps the code down to what the client's version knows; the text stays whole (D29).
func (p *produce) refuse(out *kmsg.ProduceResponseTopicPartition, code perr.Code, why string) {
	if why == "" {
		why = code.Message()
	}
	p.traffic.refused(messages.KeyProduce, code)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = true
	out.ErrorCode = int16(perr.ForVersion(messages.KeyProduce, p.version, code))
	out.ErrorMessage = text(why)
}

// finish is called once per partition that was waited for, and once by the request itself.
func (p *produce) finish() {
	p.mu.Lock()
	p.pending--
	last, failed := p.pending == 0, p.failed
	p.mu.Unlock()
	switch {
	case !last:
	case p.acks != 0:
		p.slot.Reply(p.resp)
	case failed:
		p.slot.HangUp()
	default:
		p.slot.Silent()
	}
}

// hintLeader tells v10 clients where the leader is, as far as this broker knows.
func (p *produce) hintLeader(out *kmsg.ProduceResponseTopicPartition, topic *image.Topic, index int32, view partition.View) {
	b, epoch, ok := leaderHint(p.img, topic, index, view)
	if !ok || p.version < 10 {
		return
	}
	out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = int32(b.ID), int32(epoch)
	for _, known := range p.resp.Brokers {
		if known.NodeID == int32(b.ID) {
			return
		}
	}
	n := kmsg.NewProduceResponseBroker()
	n.NodeID = int32(b.ID)
	n.Host, n.Port = p.at.told(b)
	p.resp.Brokers = append(p.resp.Brokers, n)
}
