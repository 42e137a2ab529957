package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/transactions"
)

// logs reads every partition from its start to its end, in order: all records, or those that are committed. No transaction
// may be open any more.
func (r *run) logs(ctx context.Context, seeds []string, committed bool) ([][]Entry, error) {
	cl := r.client(append(reading(committed), kgo.SeedBrokers(seeds...), kgo.ConsumePartitions(r.assignment(kgo.NewOffset().AtStart())), kgo.KeepControlRecords())...)
	defer cl.Close()
	ends, err := transactions.SettledEnds(ctx, kadm.NewClient(cl), r.topics)
	if err != nil {
		return nil, err
	}
	left := map[int]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[r.number[spot{o.Topic, o.Partition}]] = o.Offset
		}
	})
	out := make([][]Entry, len(r.partitions))
	for len(left) > 0 {
		f := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read to the ends, left %v: %w", left, err)
		}
		f.EachRecord(func(rec *kgo.Record) {
			p := r.number[spot{rec.Topic, rec.Partition}]
			if !rec.Attrs.IsControl() {
				out[p] = append(out[p], Entry{rec.Offset, valueIn(rec.Value)})
			}
			if rec.Offset+1 >= left[p] {
				delete(left, p)
			}
		})
	}
	return out, nil
}

// settle reads what is there at the end, lets every consumer get there, and waits for the group.
func (r *run) settle(seeds []string) {
	ctx, cancel := context.WithTimeout(r.t.Context(), r.patience+2*time.Minute)
	defer cancel()
	final, err := r.logs(ctx, seeds, false)
	var stable [][]Entry
	if err == nil {
		stable, err = r.logs(ctx, seeds, true)
	}
	if err != nil {
		r.t.Fatalf("read what is there: %v", err)
	}
	r.rec.add(func(h *History) { h.Final, h.Stable = final, stable })
	close(r.settled)
	if r.mirror != nil {
		return // the group died with its cluster
	}
	cl := r.client()
	defer cl.Close()
	last := lastOf(stable)
	dc.Eventually(r.t, "the group has read everything", func() (string, bool) {
		now := r.lookOnce(ctx, kadm.NewClient(cl))
		for p, end := range last {
			if now[p] < end {
				return fmt.Sprintf("%s is committed to %d of %d", r.rec.h.Partitions[p], now[p], end), false
			}
		}
		return "", true
	})
}

// lastOf is the offset behind the last record of each log that has any.
func lastOf(logs [][]Entry) map[int]int64 {
	out := map[int]int64{}
	for p, log := range logs {
		if n := len(log); n > 0 {
			out[p] = log[n-1].Offset + 1
		}
	}
	return out
}
