package datacenter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/batch"
	"lockstep/protocol/client"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Answer is what a cluster said to one Produce of one partition. Err: no answer came.
type Answer struct {
	Code perr.Code
	Text string
	Base int64
	Err  error
}

func (a Answer) String() string {
	return fmt.Sprintf("%d %s %q at %d, %v", a.Code, a.Code.Name(), a.Text, a.Base, a.Err)
}

// real is the address behind a wire.
func (d *Datacenter) real(address string) string {
	if real, behind := d.past[address]; behind {
		return real
	}
	return address
}

// Send is one Produce on its way: exactly this version, one record, no producer id, as simple as can be.
type Send struct {
	Version int16
	Acks    int16
	Timeout time.Duration // timeoutMs, what the broker is told
	Value   string
}

// AcksAll waits at most timeout at the broker, in the newest version.
func AcksAll(timeout time.Duration, value string) Send { return Send{14, -1, timeout, value} }

// Produce sends to the partition's leader and waits for the answer.
func (d *Datacenter) Produce(t T, topic string, index int32, s Send) Answer {
	t.Helper()
	return Await(t, "answer to Produce", d.Producing(t, topic, index, s))
}

// Producing does not wait for the answer, only until the request is on its way.
func (d *Datacenter) Producing(t T, topic string, index int32, s Send) <-chan Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), s.Timeout+Patience)
	var view PartitionView
	var conn *client.Conn
	// A broker that has just stopped is named until the cluster has elected another leader.
	Eventually(t, fmt.Sprintf("the leader of %s/%d takes connections", topic, index), func() (string, bool) {
		view = d.Partition(t, topic, index)
		var err error
		conn, err = client.Dial(ctx, d.real(view.Address), client.Options{ClientID: "raw"})
		return fmt.Sprint(err), err == nil
	})
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(s.Version)
	req.Acks, req.TimeoutMillis = s.Acks, int32(s.Timeout.Milliseconds())
	records := batch.Build(batch.Batch{LeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1},
		[]batch.Record{{Timestamp: time.Now().UnixMilli(), Value: []byte(s.Value)}})
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, TopicID: view.Topic,
		Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: index, Records: records.Bytes}}}}
	done := make(chan Answer, 1)
	go func() {
		defer cancel()
		defer conn.Close()
		for {
			res, err := client.Do[*kmsg.ProduceResponse](ctx, conn, req)
			a := read(res, err)
			if a.Code != perr.NotLeaderOrFollower || a.Err != nil || strings.Contains(a.Text, "cluster") {
				done <- a
				return
			}
			// Metadata knows of an election a moment before the replica leads; every client asks again. A topic that
			// moves to another cluster names it, and is an answer.
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				done <- a
				return
			}
		}
	}()
	return done
}

func read(res *kmsg.ProduceResponse, err error) Answer {
	if err != nil {
		return Answer{Err: err}
	}
	for _, rt := range res.Topics {
		for _, p := range rt.Partitions {
			a := Answer{Code: perr.Code(p.ErrorCode), Base: p.BaseOffset}
			if p.ErrorMessage != nil {
				a.Text = *p.ErrorMessage
			}
			return a
		}
	}
	return Answer{Err: errors.New("the answer has no partition")}
}

// MustProduce fails the test unless the record is acknowledged, and returns its offset.
func (d *Datacenter) MustProduce(t T, topic string, index int32, value string) int64 {
	t.Helper()
	a := d.Produce(t, topic, index, AcksAll(Patience, value))
	if a.Err != nil || a.Code != perr.None {
		t.Fatalf("produce %q to %s/%d of %s: %s", value, topic, index, d.Cluster, a)
	}
	return a.Base
}

// LogStart is the first offset of a partition.
func (d *Datacenter) LogStart(t T, topic string, index int32) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	starts, err := kadm.NewClient(d.Admin.Kafka).ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		t.Fatalf("log start of %s/%d of %s: %v", topic, index, d.Cluster, err)
	}
	at, _ := starts.Lookup(topic, index)
	return at.Offset
}

// Consumed is what a consumer sees of one partition.
type Consumed struct {
	HW    int64
	Bytes []byte // all batches below hw, in order
	Bases []int64
}

// Consume reads a whole partition with plain Fetches of an ordinary consumer.
func (d *Datacenter) Consume(t T, topic string, index int32) Consumed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	view := d.Partition(t, topic, index)
	conn, err := client.Dial(ctx, d.real(view.Address), client.Options{ClientID: "raw"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var seen Consumed
	for at := int64(0); ; {
		req := messages.NewPtrFetchRequest()
		req.SetVersion(17)
		req.MaxWaitMs, req.MaxBytes = 0, 50<<20
		p := messages.NewFetchRequestPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = index, at, 1<<20
		req.Topics = []messages.FetchRequestTopic{{TopicId: view.Topic, Partitions: []messages.FetchRequestPartition{p}}}
		res, err := client.Do[*messages.FetchResponse](ctx, conn, req)
		if err != nil {
			t.Fatalf("fetch %s/%d of %s: %v", topic, index, d.Cluster, err)
		}
		if res.ErrorCode != 0 || len(res.Responses) != 1 || len(res.Responses[0].Partitions) != 1 {
			t.Fatalf("fetch %s/%d of %s: code %d, %d topics", topic, index, d.Cluster, res.ErrorCode, len(res.Responses))
		}
		got := res.Responses[0].Partitions[0]
		if perr.Code(got.ErrorCode) == perr.OffsetOutOfRange && at == 0 {
			if at = d.LogStart(t, topic, index); at > 0 {
				continue
			}
		}
		if got.ErrorCode != 0 {
			t.Fatalf("fetch %s/%d of %s at %d: %s", topic, index, d.Cluster, at, perr.Code(got.ErrorCode).Name())
		}
		seen.HW = got.HighWatermark
		seen.Bytes = append(seen.Bytes, got.Records...)
		if len(got.Records) == 0 {
			return seen
		}
		for rest := got.Records; len(rest) > 0; {
			var b batch.Batch
			if b, rest, err = batch.Parse(rest); err != nil {
				t.Fatalf("batch in %s/%d of %s at %d: %v", topic, index, d.Cluster, at, err)
			}
			seen.Bases = append(seen.Bases, b.BaseOffset)
			at = b.LastOffset() + 1
		}
	}
}

// Has tells whether a record with this value is visible to consumers.
func (c Consumed) Has(value string) bool { return bytes.Contains(c.Bytes, []byte(value)) }

// Each gives every record in order.
func (c Consumed) Each(t T, do func(offset int64, value []byte)) {
	t.Helper()
	for rest := c.Bytes; len(rest) > 0; {
		var b batch.Batch
		var err error
		if b, rest, err = batch.Parse(rest); err == nil {
			err = b.Each(1<<30, func(r batch.Record) bool { do(r.Offset, r.Value); return true })
		}
		if err != nil {
			t.Fatalf("batch at %d: %v", b.BaseOffset, err)
		}
	}
}
