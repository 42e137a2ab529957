package transactions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readAll reads what is committed of some topics, from the start to their ends as read_committed consumers see them.
func readAll(ctx context.Context, seeds []string, names ...string) (map[string]int, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.ConsumeTopics(names...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		return nil, fmt.Errorf("make a reader: %w", err)
	}
	defer cl.Close()
	ends, err := SettledEnds(ctx, kadm.NewClient(cl), names)
	if err != nil {
		return nil, err
	}
	left := map[string]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[fmt.Sprint(o.Topic, "/", o.Partition)] = o.Offset
		}
	})
	seen := map[string]int{}
	for len(left) > 0 {
		f := cl.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			return nil, fmt.Errorf("read to the ends, left %v: %w", left, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				seen[r.Topic+" "+string(r.Value)]++
			}
			at := fmt.Sprint(r.Topic, "/", r.Partition)
			if r.Offset+1 >= left[at] {
				delete(left, at)
			}
		})
	}
	return seen, nil
}

// SettledEnds waits until no transaction is open: then the last stable offsets are the high watermarks.
func SettledEnds(ctx context.Context, a *kadm.Client, names []string) (kadm.ListedOffsets, error) {
	for {
		all, err := a.ListEndOffsets(ctx, names...)
		stable, err2 := a.ListCommittedOffsets(ctx, names...)
		open := ""
		if err == nil && err2 == nil && all.Error() == nil && stable.Error() == nil {
			all.Each(func(o kadm.ListedOffset) {
				if s, ok := stable.Lookup(o.Topic, o.Partition); !ok || s.Offset != o.Offset {
					open = fmt.Sprintf("%s/%d is stable up to %d of %d", o.Topic, o.Partition, s.Offset, o.Offset)
				}
			})
			if open == "" {
				return stable, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("transactions stay open: %s: %w", open, errors.Join(err, err2, ctx.Err()))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// verdict counts what was found of transactions.
type verdict struct {
	committed, aborted, unknown, records int
	wrong                                []string
}

// judge holds what readers saw against what producers were told. At a mirror there are no copies, and what was not
// answered may be torn.
func judge(producers []*producer, seen map[string]int, mirror bool) (v verdict) {
	complain := func(format string, args ...any) { v.wrong = append(v.wrong, fmt.Sprintf(format, args...)) }
	for _, p := range producers {
		for _, t := range p.txns {
			found := 0
			for i := range t.values {
				switch n := seen[fmt.Sprintf("%s %s%d", topics[i%len(topics)], t.name, i)]; {
				case n > 1:
					complain("%s%d was read %d times", t.name, i, n)
				case n == 1:
					found++
				}
			}
			v.records += found
			switch t.fate {
			case committed:
				v.committed++
				if found != t.values {
					complain("%s was committed, and %d of its %d records were read", t.name, found, t.values)
				}
			case aborted:
				v.aborted++
				if found > 0 {
					complain("%s was aborted, and %d of its records were read", t.name, found)
				}
			case unknown:
				v.unknown++
				if found != 0 && found != t.values && !mirror {
					complain("%s was neither committed nor aborted: %d of its %d records were read", t.name, found, t.values)
				}
			}
		}
	}
	for value, n := range seen {
		if mirror {
			break
		}
		if strings.HasPrefix(value, copyTo+" ") && n != 1 {
			complain("%s was copied %d times", value, n)
		}
		if source, is := strings.CutPrefix(value, copyFrom+" "); is && seen[copyTo+" "+source] != 1 {
			complain("%s was copied %d times", source, seen[copyTo+" "+source])
		}
	}
	slices.Sort(v.wrong)
	return v
}
