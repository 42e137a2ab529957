package peer

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/batch"
	"lockstep/protocol/client"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// fetchWait is how long the source may park a fetch.
const fetchWait = 200 * time.Millisecond

// Run mirrors until ctx ends or Stop, and keeps trying whatever happens. Call it once at a time.
func (d *Destination) Run() {
	ctx, stop := context.WithCancel(context.Background())
	d.stop, d.ended = stop, make(chan struct{})
	go func() {
		defer close(d.ended)
		for ctx.Err() == nil {
			err := d.follow(ctx)
			d.mu.Lock()
			d.trouble = err
			d.mu.Unlock()
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
}

// Stop ends Run at once, as a crash would: nobody is told.
func (d *Destination) Stop() {
	d.stop()
	<-d.ended
}

// follow fetches from one leader under one epoch until something is wrong.
func (d *Destination) follow(ctx context.Context) error {
	if err := d.locate(ctx); err != nil {
		return err
	}
	conn, err := client.Dial(ctx, d.leader, client.Options{ClientID: "kip-peer"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := d.align(ctx, conn); err != nil {
		return err
	}
	for ctx.Err() == nil {
		resp, err := client.Do[*messages.FetchResponse](ctx, conn, d.request())
		if err != nil {
			return err
		}
		if resp.ErrorCode != 0 || len(resp.Responses) != 1 || len(resp.Responses[0].Partitions) != 1 {
			return fmt.Errorf("fetch answered with %s and %d topics", perr.Code(resp.ErrorCode), len(resp.Responses))
		}
		if err := d.take(&resp.Responses[0].Partitions[0]); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// align asks where the log parts from the new leader's and cuts every replica there.
func (d *Destination) align(ctx context.Context, conn *client.Conn) error {
	d.mu.Lock()
	last, wanted := d.replicas[0].LastEpoch(), d.wanted
	d.mu.Unlock()
	end := int64(0)
	if last >= 0 {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.SetVersion(4)
		req.ReplicaID = -1
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.CurrentLeaderEpoch, p.LeaderEpoch = wanted, last
		req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: d.Topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
		resp, err := client.Do[*kmsg.OffsetForLeaderEpochResponse](ctx, conn, req)
		if err != nil {
			return err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
			return fmt.Errorf("where epoch %d ends: %+v", last, resp.Topics)
		}
		end = resp.Topics[0].Partitions[0].EndOffset
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.replicas {
		d.replicas[i].Cut(max(end, 0))
	}
	d.adopted = wanted
	return nil
}

// request is the draft's: the partition under the adopted epoch, and the list of replicas.
func (d *Destination) request() *messages.FetchRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	leader := &d.replicas[0]
	req := messages.NewPtrFetchRequest()
	req.SetVersion(20)
	req.ReplicaId, req.MaxBytes, req.MinBytes, req.MaxWaitMs = -1, 8<<20, 1, int32(fetchWait.Milliseconds())
	p := messages.NewFetchRequestPartition()
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.PartitionMaxBytes = d.adopted, leader.End(), leader.LastEpoch(), 1<<20
	req.Topics = []messages.FetchRequestTopic{{TopicId: d.id, Partitions: []messages.FetchRequestPartition{p}}}
	list := messages.FetchRequestMirroredTopicPartition{MinISR: d.minISR, ISR: d.isr}
	for i := range d.replicas {
		list.ReplicaLastOffsets = append(list.ReplicaLastOffsets, messages.FetchRequestReplicaLastOffsets{ReplicaId: int32(i + 1), LastFetchOffset: d.replicas[i].End()})
	}
	req.MirrorReplicaInfo.MirrorName = d.Mirror
	req.MirrorReplicaInfo.Topics = []messages.FetchRequestMirroredTopics{{Topic: d.Topic, TopicId: d.id, Partitions: []messages.FetchRequestMirroredTopicPartition{list}}}
	if d.distort != nil {
		d.distort(req)
	}
	return req
}

// take appends what came; followers copy it before the next fetch leaves, unless they are held.
func (d *Destination) take(p *messages.FetchResponsePartition) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusal, d.trouble = perr.Code(p.ErrorCode), nil
	d.fetches++
	switch {
	case d.refusal == perr.InvalidSyncRegistration || d.refusal == perr.MirrorRegistrationPropagating:
		return fmt.Errorf("the source does not gate: %s", d.refusal)
	case d.refusal != perr.None:
		return fmt.Errorf("fetch answered with %s", d.refusal)
	case p.DivergingEpoch.EndOffset >= 0:
		return fmt.Errorf("the log diverges at %d", p.DivergingEpoch.EndOffset)
	}
	leader := &d.replicas[0]
	for rest := p.Records; len(rest) > 0; {
		b, tail, err := batch.Parse(rest)
		if err != nil {
			break // cut short by the size limit
		}
		if b.LastOffset() >= leader.End() {
			if err := leader.Append(b); err != nil {
				return err
			}
		}
		rest = tail
	}
	d.hw = p.HighWatermark
	for i := 1; i < len(d.replicas); i++ {
		if !d.held[i] {
			d.replicas[i] = d.replicas[0].copy()
		}
	}
	return nil
}
