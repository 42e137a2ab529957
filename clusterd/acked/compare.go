package acked

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Verdict is what reading everything back says.
type Verdict struct {
	Acked      int
	Found      int // distinct records of this producer in the log, acknowledged or not
	Lost       int // acknowledged and absent
	Duplicated int // records that are there more than once
	// LostSample names up to five lost records, for a person to look for.
	LostSample []uint64
}

// Compare reads the topic from its start to its end with a stock consumer and holds it against the
// producer's own list.
func (p *Producer) Compare(ctx context.Context, seeds []string) (Verdict, error) {
	counts, err := readAll(ctx, seeds, p.topic, p.run)
	if err != nil {
		return Verdict{}, err
	}
	return p.judge(counts), nil
}

// judge holds how often each record number was read against the acknowledgements.
func (p *Producer) judge(counts map[uint64]int) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := Verdict{Acked: len(p.acks), Found: len(counts)}
	for n := range p.acks {
		if counts[n] == 0 {
			v.Lost++
			if len(v.LostSample) < 5 {
				v.LostSample = append(v.LostSample, n)
			}
		}
	}
	for _, c := range counts {
		if c > 1 {
			v.Duplicated++
		}
	}
	return v
}

func readAll(ctx context.Context, seeds []string, topic string, run uint64) (map[uint64]int, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.DialTimeout(time.Second), kgo.FetchMaxWait(200*time.Millisecond), kgo.KeepControlRecords())
	if err != nil {
		return nil, fmt.Errorf("make reader for %s: %w", topic, err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	ends, err := endOffsets(ctx, adm, topic)
	if err != nil {
		return nil, err
	}
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("list start offsets of %s: %w", topic, err)
	}
	left, assign := map[int32]int64{}, map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		from, _ := starts.Lookup(topic, o.Partition)
		if from.Offset < o.Offset {
			left[o.Partition], assign[o.Partition] = o.Offset, kgo.NewOffset().At(from.Offset)
		}
	})
	counts := map[uint64]int{}
	if len(left) == 0 {
		return counts, nil
	}
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: assign})
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read %s back, partitions %v unfinished: %w", topic, keys(left), err)
		}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			for _, r := range f.Records {
				if !r.Attrs.IsControl() && len(r.Value) >= valueHeader && binary.BigEndian.Uint64(r.Value) == run {
					counts[binary.BigEndian.Uint64(r.Value[8:])]++
				}
			}
			if n := len(f.Records); n > 0 && f.Records[n-1].Offset+1 >= left[f.Partition] {
				delete(left, f.Partition)
			}
		})
	}
	return counts, nil
}

// endOffsets asks until every leader answers: one that was elected a moment ago does not know its HW yet,
// and says so with a retriable code that the admin client hands to its caller (KIP-207).
func endOffsets(ctx context.Context, adm *kadm.Client, topic string) (kadm.ListedOffsets, error) {
	for {
		ends, err := adm.ListEndOffsets(ctx, topic)
		if err == nil {
			err = ends.Error()
		}
		if err == nil {
			return ends, nil
		}
		var code *kerr.Error
		if !errors.As(err, &code) || !code.Retriable {
			return nil, fmt.Errorf("list end offsets of %s: %w", topic, err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("list end offsets of %s: %w", topic, errors.Join(ctx.Err(), err))
		}
	}
}

func keys(m map[int32]int64) []int32 {
	out := make([]int32, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}
