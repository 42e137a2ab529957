package demo

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/client"
	"lockstep/protocol/perr"
)

// loseDestination kills the destination, shows what producers are told, and releases the mirror.
func (r *run) loseDestination(ctx context.Context) (time.Duration, error) {
	r.destination.Kill()
	r.say("kill -9 dc2 after %d acknowledgements; dc1 goes on waiting for it", r.producer.Acked())
	code, text, err := r.produceOnce(ctx, 11)
	if err != nil {
		return 0, err
	}
	r.say("a client of today (Produce v11) is told: %d %s", code, text)
	if code != perr.NotEnoughReplicasAfterAppend || !strings.Contains(text, mirror) {
		return 0, fmt.Errorf("a Produce v11 was answered %d %q, not code %d with the mirror's name", code, text, perr.NotEnoughReplicasAfterAppend)
	}
	code, text, err = r.produceOnce(ctx, 14)
	if err != nil {
		return 0, err
	}
	r.say("a client that knows the new codes (Produce v14) is told: %d %s", code, text)
	if code != perr.MirrorSyncReplicationTimeout || !strings.Contains(text, mirror) {
		return 0, fmt.Errorf("a Produce v14 was answered %d %q, not code %d with the mirror's name", code, text, perr.MirrorSyncReplicationTimeout)
	}
	next := r.producer.NextNew()
	released := time.Now()
	rel, err := r.sourceAdmin.ReleaseSync(ctx, mirror, nil, false)
	if err != nil {
		return 0, fmt.Errorf("release mirror %s: %w", mirror, err)
	}
	r.say("release-sync on dc1: release %d of %d topic(s) of %s", rel.Number, len(rel.Topics), rel.Cluster)
	select {
	case <-next:
		took := time.Since(released)
		r.say("producing goes on at dc1: first new write %s after the release", ms(took))
		return took, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("producing does not go on after the release: %w", ctx.Err())
	}
}

// produceOnce sends one plain record to partition 0 of dc1 in exactly this version, with timeoutMs 2 s.
func (r *run) produceOnce(ctx context.Context, version int16) (perr.Code, string, error) {
	id, leader, err := r.leader(ctx)
	if err != nil {
		return 0, "", err
	}
	conn, err := client.Dial(ctx, leader, client.Options{})
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(version)
	req.Acks, req.TimeoutMillis = -1, 2000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, TopicID: id, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: oneRecord([]byte("probe"))}}}}
	res, err := client.Do[*kmsg.ProduceResponse](ctx, conn, req)
	if err != nil {
		return 0, "", fmt.Errorf("send Produce v%d: %w", version, err)
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return 0, "", fmt.Errorf("send Produce v%d: the answer is not about one partition: %+v", version, res.Topics)
	}
	p, text := res.Topics[0].Partitions[0], ""
	if p.ErrorMessage != nil {
		text = *p.ErrorMessage
	}
	return perr.Code(p.ErrorCode), text, nil
}

// leader is the topic's id and the address of partition 0's leader at dc1.
func (r *run) leader(ctx context.Context) ([16]byte, string, error) {
	req := kmsg.NewPtrMetadataRequest()
	name := topic
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	res, err := req.RequestWith(ctx, r.sourceAdmin.Kafka)
	if err != nil {
		return [16]byte{}, "", fmt.Errorf("ask dc1 for metadata: %w", err)
	}
	for _, t := range res.Topics {
		for _, p := range t.Partitions {
			for _, b := range res.Brokers {
				if p.Partition == 0 && p.Leader == b.NodeID {
					return t.TopicID, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), nil
				}
			}
		}
	}
	return [16]byte{}, "", fmt.Errorf("dc1 shows no leader for %s/0", topic)
}

// oneRecord is a batch of one record without producer id, as a plain client sends it.
func oneRecord(value []byte) []byte {
	rec := kmsg.Record{TimestampDelta64: 0, Value: value}
	body := rec.AppendTo(nil)
	rec.Length = int32(len(body) - 1) // one byte held the length, zero so far
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: rec.AppendTo(nil)}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}
