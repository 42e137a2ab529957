package fetcher

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// fetch parks until something can be said, as a broker does.
func (p *peer) fetch(c net.Conn, req *messages.FetchRequest) kmsg.Response {
	sync := map[int32]messages.FetchRequestMirroredTopicPartition{}
	for _, t := range req.MirrorReplicaInfo.Topics {
		for _, r := range t.Partitions {
			sync[r.Partition] = r
		}
	}
	floors := map[int32][]messages.ReplicaFloorsPartition{}
	if f := req.MirrorReplicaInfo.Floors; f != nil {
		for _, t := range f.Topics {
			for _, r := range t.Partitions {
				floors[r.Partition] = append(floors[r.Partition], r)
			}
		}
	}
	positions := func(r messages.FetchRequestMirroredTopicPartition) map[int32]int64 {
		at := map[int32]int64{}
		for _, o := range r.ReplicaLastOffsets {
			at[o.ReplicaId] = o.LastFetchOffset
		}
		return at
	}
	var asked []peerFetch
	for _, t := range req.Topics {
		for _, q := range t.Partitions {
			r, isSync := sync[q.Partition]
			asked = append(asked, peerFetch{Partition: q.Partition, NoRecords: q.NoRecords, Epoch: core.LeaderEpoch(q.CurrentLeaderEpoch), Last: core.LeaderEpoch(q.LastFetchedEpoch),
				Offset: core.Offset(q.FetchOffset), Compare: core.Offset(q.CompareOffset), Sync: isSync, Probe: req.MaxBytes == 1, Floors: floors[q.Partition], ISR: r.ISR, Positions: positions(r),
				MaxWait: time.Duration(req.MaxWaitMs) * time.Millisecond})
		}
	}
	deadline := time.Now().Add(time.Duration(req.MaxWaitMs) * time.Millisecond)
	timer := time.AfterFunc(time.Until(deadline), func() { p.change(func() {}) })
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetches = append(p.fetches, asked...)
	p.moved.Broadcast()
	for {
		resp, ready := p.compose(req, asked)
		if ready || !time.Now().Before(deadline) {
			return resp
		}
		if !p.conns[c] {
			return nil
		}
		p.moved.Wait()
	}
}

func (p *peer) compose(req *messages.FetchRequest, asked []peerFetch) (*messages.FetchResponse, bool) {
	resp := messages.NewPtrFetchResponse()
	resp.SetVersion(req.GetVersion())
	ready := false
	out := messages.FetchResponseTopic{TopicId: p.topic}
	for _, q := range asked {
		l := p.logs[q.Partition]
		r := messages.NewFetchResponsePartition()
		r.PartitionIndex, r.HighWatermark, r.LogStartOffset = q.Partition, int64(l.hw), int64(l.start)
		if !l.plain {
			r.Evidence = &messages.PartitionEvidence{}
			r.Evidence.Default()
			r.Evidence.SourceEpoch, r.Evidence.LastUncleanEpoch = int32(l.epoch), int32(l.unclean)
			r.Evidence.Incarnation = l.source
		}
		if q.Compare >= 0 && !l.plain {
			r.ComparedCrc = tail(l.batches, q.Compare)
		}
		switch code := l.fence(int32(q.Epoch)); {
		case code != 0:
			r.ErrorCode, ready = int16(code), true
		case q.Sync && l.refuse != 0:
			r.ErrorCode, r.ReleaseNumber, ready = int16(l.refuse), l.release, true
		case q.Offset < l.start || q.Offset > l.end():
			r.ErrorCode, ready = int16(perr.OffsetOutOfRange), true
		default:
			if epoch, end := l.endOf(q.Last); q.Last >= 0 && (epoch != q.Last || end < q.Offset) {
				r.DivergingEpoch.Epoch, r.DivergingEpoch.EndOffset, ready = int32(epoch), int64(end), true
				break
			}
			below := l.hw
			if q.Sync {
				below = l.end()
			}
			for _, b := range l.batches {
				if !q.NoRecords && core.Offset(b.LastOffset()) >= q.Offset && core.Offset(b.LastOffset()) < below {
					r.Records, ready = append(r.Records, b.Bytes...), true
				}
			}
		}
		if p.script != nil {
			p.script(q, &r)
			ready = ready || r.ErrorCode != 0 || len(r.Records) > 0
		}
		out.Partitions = append(out.Partitions, r)
	}
	resp.Responses = []messages.FetchResponseTopic{out}
	if p.extra != nil {
		p.extra(resp)
	}
	return resp, ready
}

// seal puts the right CRC into a batch.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// testBatch is a batch of n records of one byte each, with a right CRC.
func testBatch(n int) []byte {
	b := make([]byte, 61)
	b[16] = 2
	binary.BigEndian.PutUint32(b[23:], uint32(n-1))
	binary.BigEndian.PutUint64(b[43:], ^uint64(0)) // no producer id
	binary.BigEndian.PutUint16(b[51:], ^uint16(0))
	binary.BigEndian.PutUint32(b[53:], ^uint32(0))
	binary.BigEndian.PutUint32(b[57:], uint32(n))
	for i := range n {
		record := binary.AppendVarint([]byte{0, 0}, int64(i)) // attributes, timestamp delta, offset delta
		record = append(record, 1, 2, 'v', 0)                 // null key, one byte of value, no headers
		b = append(binary.AppendVarint(b, int64(len(record))), record...)
	}
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	return seal(b)
}
