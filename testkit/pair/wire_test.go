package pair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/batch"
	"lockstep/protocol/client"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// partitionView is one partition as a cluster's metadata shows it.
type partitionView struct {
	topic   [16]byte
	address string
	leader  int32
	epoch   int32
	isr     []int32
}

func (d *datacenter) metadata(ctx context.Context, topic string) (map[int32]partitionView, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	res, err := req.RequestWith(ctx, d.admin.Kafka)
	if err != nil {
		return nil, fmt.Errorf("metadata of %s on %s: %w", topic, d.Cluster, err)
	}
	brokers := map[int32]string{}
	for _, b := range res.Brokers {
		brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	views := map[int32]partitionView{}
	for _, rt := range res.Topics {
		for _, p := range rt.Partitions {
			if brokers[p.Leader] == "" {
				return nil, fmt.Errorf("%s/%d of %s has no leader (code %d)", topic, p.Partition, d.Cluster, p.ErrorCode)
			}
			views[p.Partition] = partitionView{rt.TopicID, brokers[p.Leader], p.Leader, p.LeaderEpoch, p.ISR}
		}
	}
	if len(views) == 0 {
		return nil, fmt.Errorf("%s shows no partitions of %s", d.Cluster, topic)
	}
	return views, nil
}

// partition waits until the partition has a leader.
func (d *datacenter) partition(t *testing.T, topic string, index int32) partitionView {
	t.Helper()
	var view partitionView
	eventually(t, fmt.Sprintf("%s/%d of %s has a leader", topic, index, d.Cluster), func() (string, bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		views, err := d.metadata(ctx, topic)
		if err != nil {
			return err.Error(), false
		}
		var ok bool
		view, ok = views[index]
		return fmt.Sprintf("%d partitions", len(views)), ok
	})
	return view
}

// answer is what a cluster said to one Produce of one partition. err: no answer came.
type answer struct {
	code perr.Code
	text string
	base int64
	err  error
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s %q at %d, %v", a.code, a.code.Name(), a.text, a.base, a.err)
}

// send is one Produce on its way: exactly this version, one record, no producer id, as simple as can be.
type send struct {
	version int16
	acks    int16
	timeout time.Duration // timeoutMs, what the broker is told
	value   string
}

// acksAll waits at most timeout at the broker, in the newest version.
func acksAll(timeout time.Duration, value string) send { return send{14, -1, timeout, value} }

// produce sends to the partition's leader and waits for the answer.
func (d *datacenter) produce(t *testing.T, topic string, index int32, s send) answer {
	t.Helper()
	return await(t, "answer to Produce", d.producing(t, topic, index, s))
}

// producing does not wait for the answer, only until the request is on its way.
func (d *datacenter) producing(t *testing.T, topic string, index int32, s send) <-chan answer {
	t.Helper()
	view := d.partition(t, topic, index)
	ctx, cancel := context.WithTimeout(t.Context(), s.timeout+patience)
	conn, err := client.Dial(ctx, view.address, client.Options{ClientID: "raw"})
	if err != nil {
		t.Fatalf("dial %s/%d: %v", topic, index, err)
	}
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(s.version)
	req.Acks, req.TimeoutMillis = s.acks, int32(s.timeout.Milliseconds())
	records := batch.Build(batch.Batch{LeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1},
		[]batch.Record{{Timestamp: time.Now().UnixMilli(), Value: []byte(s.value)}})
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, TopicID: view.topic,
		Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: index, Records: records.Bytes}}}}
	done := make(chan answer, 1)
	go func() {
		defer cancel()
		defer conn.Close()
		for {
			res, err := client.Do[*kmsg.ProduceResponse](ctx, conn, req)
			a := read(res, err)
			if a.code != perr.NotLeaderOrFollower || a.err != nil {
				done <- a
				return
			}
			// Metadata knows of an election a moment before the replica leads; every client asks again.
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

func read(res *kmsg.ProduceResponse, err error) answer {
	if err != nil {
		return answer{err: err}
	}
	for _, rt := range res.Topics {
		for _, p := range rt.Partitions {
			a := answer{code: perr.Code(p.ErrorCode), base: p.BaseOffset}
			if p.ErrorMessage != nil {
				a.text = *p.ErrorMessage
			}
			return a
		}
	}
	return answer{err: errors.New("the answer has no partition")}
}

// mustProduce fails the test unless the record is acknowledged, and returns its offset.
func (d *datacenter) mustProduce(t *testing.T, topic string, index int32, value string) int64 {
	t.Helper()
	a := d.produce(t, topic, index, acksAll(patience, value))
	if a.err != nil || a.code != perr.None {
		t.Fatalf("produce %q to %s/%d of %s: %s", value, topic, index, d.Cluster, a)
	}
	return a.base
}

// consumed is what a consumer sees of one partition.
type consumed struct {
	hw    int64
	bytes []byte // all batches below hw, in order
	bases []int64
}

// consume reads a whole partition with plain Fetches of an ordinary consumer.
func (d *datacenter) consume(t *testing.T, topic string, index int32) consumed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	view := d.partition(t, topic, index)
	conn, err := client.Dial(ctx, view.address, client.Options{ClientID: "raw"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var seen consumed
	for at := int64(0); ; {
		req := messages.NewPtrFetchRequest()
		req.SetVersion(17)
		req.MaxWaitMs, req.MaxBytes = 0, 50<<20
		p := messages.NewFetchRequestPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = index, at, 1<<20
		req.Topics = []messages.FetchRequestTopic{{TopicId: view.topic, Partitions: []messages.FetchRequestPartition{p}}}
		res, err := client.Do[*messages.FetchResponse](ctx, conn, req)
		if err != nil {
			t.Fatalf("fetch %s/%d of %s: %v", topic, index, d.Cluster, err)
		}
		if res.ErrorCode != 0 || len(res.Responses) != 1 || len(res.Responses[0].Partitions) != 1 {
			t.Fatalf("fetch %s/%d of %s: code %d, %d topics", topic, index, d.Cluster, res.ErrorCode, len(res.Responses))
		}
		got := res.Responses[0].Partitions[0]
		if got.ErrorCode != 0 {
			t.Fatalf("fetch %s/%d of %s at %d: %s", topic, index, d.Cluster, at, perr.Code(got.ErrorCode).Name())
		}
		seen.hw = got.HighWatermark
		seen.bytes = append(seen.bytes, got.Records...)
		if len(got.Records) == 0 {
			return seen
		}
		for rest := got.Records; len(rest) > 0; {
			var b batch.Batch
			if b, rest, err = batch.Parse(rest); err != nil {
				t.Fatalf("batch in %s/%d of %s at %d: %v", topic, index, d.Cluster, at, err)
			}
			seen.bases = append(seen.bases, b.BaseOffset)
			at = b.LastOffset() + 1
		}
	}
}

// has tells whether a record with this value is visible to consumers.
func (c consumed) has(value string) bool { return bytes.Contains(c.bytes, []byte(value)) }
