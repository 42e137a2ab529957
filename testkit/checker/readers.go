package checker

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// assignment is every partition, from one place.
func (r *run) assignment(from kgo.Offset) map[string]map[int32]kgo.Offset {
	out := map[string]map[int32]kgo.Offset{}
	for _, p := range r.partitions {
		if out[p.topic] == nil {
			out[p.topic] = map[int32]kgo.Offset{}
		}
		out[p.topic][p.index] = from
	}
	return out
}

func reading(committed bool) []kgo.Opt {
	opts := []kgo.Opt{kgo.FetchMaxWait(200 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	if committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	return opts
}

// note writes down what a poll gave.
func (r *run) note(reader int, session func(partition int) int, fetches kgo.Fetches) {
	at := r.rec.now()
	var polls []Poll
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		if len(f.Records) == 0 {
			return
		}
		p := r.number[spot{f.Topic, f.Partition}]
		poll := Poll{Reader: reader, Session: session(p), Partition: p, At: at, HW: f.HighWatermark, LSO: f.LastStableOffset}
		for _, rec := range f.Records {
			poll.Offsets, poll.Values = append(poll.Offsets, rec.Offset), append(poll.Values, valueIn(rec.Value))
		}
		polls = append(polls, poll)
	})
	r.rec.add(func(h *History) { h.Polls = append(h.Polls, polls...) })
}

// follow reads every partition from the start until ctx ends, and then on to the ends.
func (r *run) follow(ctx context.Context, reader int, committed bool) {
	cl := r.client(append(reading(committed), kgo.ConsumePartitions(r.assignment(kgo.NewOffset().AtStart())))...)
	defer cl.Close()
	one := func(int) int { return 0 }
	read := map[int]int64{}
	poll := func(ctx context.Context) {
		fetches := cl.PollFetches(ctx)
		r.note(reader, one, fetches)
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			if n := len(f.Records); n > 0 {
				read[r.number[spot{f.Topic, f.Partition}]] = f.Records[n-1].Offset + 1
			}
		})
	}
	for ctx.Err() == nil {
		poll(ctx)
	}
	<-r.settled
	left := lastOf(r.rec.h.Final)
	if committed {
		left = lastOf(r.rec.h.Stable)
	}
	last, cancel := r.rest()
	defer cancel()
	for behind := true; behind && last.Err() == nil; {
		behind = false
		for p, end := range left {
			behind = behind || read[p] < end
		}
		if behind {
			poll(last)
		}
	}
}

// jump reads from random places, a second or so at each.
func (r *run) jump(ctx context.Context, reader int) {
	rng := rand.New(rand.NewPCG(r.Seed, 1000+uint64(reader)))
	for session := 0; ctx.Err() == nil; session++ {
		from := kgo.NewOffset().AtStart()
		if n := r.written.Load(); n > 0 {
			from = kgo.NewOffset().At(rng.Int64N(n))
		}
		cl := r.client(append(reading(false), kgo.ConsumePartitions(r.assignment(from)))...)
		for until := time.Now().Add(time.Second); time.Now().Before(until) && ctx.Err() == nil; {
			poll, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			r.note(reader, func(int) int { return session }, cl.PollRecords(poll, 200))
			cancel()
		}
		cl.Close()
	}
}

const groupName = "readers"

// member reads committed data as a member of a group and commits what it has read, each time. At the end it goes on until
// the group has read everything.
func (r *run) member(ctx context.Context, reader int) {
	var mu sync.Mutex
	session := map[int]int{}
	begin := func(_ context.Context, _ *kgo.Client, given map[string][]int32) {
		mu.Lock()
		defer mu.Unlock()
		for topic, list := range given {
			for _, p := range list {
				session[r.number[spot{topic, p}]]++
			}
		}
	}
	cl := r.client(append(reading(true), kgo.ConsumerGroup(groupName), kgo.ConsumeTopics(r.topics...), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(500*time.Millisecond), kgo.OnPartitionsAssigned(begin))...)
	defer cl.CloseAllowingRebalance()
	for ctx.Err() == nil {
		fetches := cl.PollRecords(ctx, 200)
		r.note(reader, func(p int) int { mu.Lock(); defer mu.Unlock(); return session[p] }, fetches)
		if records := fetches.Records(); len(records) > 0 {
			r.commit(cl, records)
		}
		cl.AllowRebalance()
	}
}

// commit commits what was read, and writes down what was answered.
func (r *run) commit(cl *kgo.Client, records []*kgo.Record) {
	next := map[int]int64{}
	for _, rec := range records {
		next[r.number[spot{rec.Topic, rec.Partition}]] = rec.Offset + 1
	}
	began := r.rec.now()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	outcome := Done
	if err := cl.CommitRecords(ctx, records...); err != nil {
		outcome = Unknown
	}
	ended := r.rec.now()
	r.rec.add(func(h *History) {
		for p, offset := range next {
			h.Commits = append(h.Commits, Commit{p, offset, began, ended, outcome})
		}
	})
}

// look reads the group's offsets again and again.
func (r *run) look(ctx context.Context) {
	cl := r.client()
	defer cl.Close()
	for ctx.Err() == nil {
		r.lookOnce(ctx, kadm.NewClient(cl))
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// lookOnce tells how far the group is, by partition.
func (r *run) lookOnce(ctx context.Context, adm *kadm.Client) map[int]int64 {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	began := r.rec.now()
	offsets, err := adm.FetchOffsets(ctx, groupName)
	ended := r.rec.now()
	if err != nil {
		return nil
	}
	seen := map[int]int64{}
	r.rec.add(func(h *History) {
		offsets.Each(func(o kadm.OffsetResponse) {
			if p, ours := r.number[spot{o.Topic, o.Partition}]; ours && o.Err == nil {
				seen[p] = o.At
				h.Committed = append(h.Committed, Look{p, o.At, began, ended})
			}
		})
	})
	return seen
}
