package connections

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// patience is how long one answer may take.
const patience = time.Minute

// ask sends a request and waits for its answer.
func ask(c net.Conn, req kmsg.Request) (kmsg.Response, error) {
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(protocol.AppendRequest(nil, 1, nil, req)); err != nil {
		return nil, err
	}
	frame, err := protocol.ReadFrame(c, 64<<20)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	return resp, protocol.DecodeResponse(frame, resp)
}

func shake(c net.Conn) error {
	_, err := ask(c, kmsg.NewPtrApiVersionsRequest())
	return err
}

// idleConns are connections that say nothing.
type idleConns []net.Conn

// dialIdle opens n connections, spread over the brokers; with an error those that are open are returned too.
func dialIdle(brokers []string, n int) (idleConns, error) {
	conns := make(idleConns, n)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failure error
	const lanes = 16
	for lane := range lanes {
		all.Go(func() {
			for i := lane; i < n; i += lanes {
				c, err := net.DialTimeout("tcp", brokers[i%len(brokers)], patience)
				if err == nil {
					conns[i] = c
					err = shake(c)
				}
				if err != nil {
					mu.Lock()
					failure = fmt.Errorf("idle connection %d of %d: %w", i+1, n, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	return conns, failure
}

// stillThere asks each for a sign of life.
func (l idleConns) stillThere() error {
	for i, c := range l {
		if err := shake(c); err != nil {
			return fmt.Errorf("idle connection %d of %d did not last: %w", i+1, len(l), err)
		}
	}
	return nil
}

func (l idleConns) close() {
	for _, c := range l {
		if c != nil {
			c.Close()
		}
	}
}

// active is one connection that writes and reads.
type active struct {
	net       net.Conn
	partition int32
	records   []byte
}

// beat is how long a record took from when it was due: until its ack, and from there until it was read back.
type beat struct{ ack, read time.Duration }

func dialActive(broker string, partition int32) (*active, error) {
	c, err := net.DialTimeout("tcp", broker, patience)
	if err == nil {
		err = shake(c)
	}
	if err != nil {
		return nil, fmt.Errorf("active connection: %w", err)
	}
	header := batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
	return &active{c, partition, batch.Build(header, []batch.Record{{Timestamp: time.Now().UnixMilli(), Value: make([]byte, 100)}}).Bytes}, nil
}

func (a *active) close() { a.net.Close() }

// run beats from first on, each pace, until end.
func (a *active) run(first, end time.Time, pace time.Duration) (beats []beat, err error) {
	for due := first; due.Before(end); due = due.Add(pace) {
		time.Sleep(time.Until(due))
		offset, err := a.write()
		if err != nil {
			return beats, fmt.Errorf("write: %w", err)
		}
		acked := time.Now()
		if err := a.readBack(offset); err != nil {
			return beats, fmt.Errorf("read: %w", err)
		}
		beats = append(beats, beat{acked.Sub(due), time.Since(acked)})
	}
	return beats, nil
}

func (a *active) write() (int64, error) {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis = 9, -1, int32(patience.Milliseconds())
	r.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: a.partition, Records: a.records}}}}
	resp, err := ask(a.net, r)
	if err != nil {
		return 0, err
	}
	p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return 0, fmt.Errorf("partition %d: %s", a.partition, perr.Code(p.ErrorCode))
	}
	return p.BaseOffset, nil
}

func (a *active) readBack(offset int64) error {
	r := messages.NewPtrFetchRequest()
	r.Version, r.MaxWaitMs, r.MinBytes, r.MaxBytes, r.SessionEpoch = 12, int32(patience.Milliseconds()), 1, 1<<20, -1
	t := messages.NewFetchRequestTopic()
	t.Topic = topic
	p := messages.NewFetchRequestPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = a.partition, offset, 1
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp, err := ask(a.net, r)
	if err != nil {
		return err
	}
	got := resp.(*messages.FetchResponse).Responses
	switch {
	case len(got) != 1 || len(got[0].Partitions) != 1:
		return fmt.Errorf("partition %d was not answered", a.partition)
	case got[0].Partitions[0].ErrorCode != 0:
		return fmt.Errorf("partition %d: %s", a.partition, perr.Code(got[0].Partitions[0].ErrorCode))
	case len(got[0].Partitions[0].Records) == 0:
		return fmt.Errorf("partition %d: offset %d was acknowledged and does not come", a.partition, offset)
	}
	return nil
}
