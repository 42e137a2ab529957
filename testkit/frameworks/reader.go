package frameworks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// reader follows a topic from its start as read_committed consumers do, until the job ends.
type reader struct {
	topic string
	take  func(*kgo.Record) // called under mu
	admin *kadm.Client

	mu   sync.Mutex      // guards what take writes, too
	next map[int32]int64 // by partition
}

func follow(r *run, topic string, take func(*kgo.Record)) *reader {
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Bootstrap()...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(500*time.Millisecond), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		r.job.Fatal(err)
	}
	f := &reader{topic: topic, take: take, admin: kadm.NewClient(cl), next: map[int32]int64{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for r.job.Context().Err() == nil {
			cl.PollFetches(r.job.Context()).EachRecord(f.one)
		}
	}()
	r.job.Cleanup(func() { cl.Close(); <-ended })
	return f
}

func (f *reader) one(r *kgo.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[r.Partition] = r.Offset + 1
	if !r.Attrs.IsControl() {
		f.take(r)
	}
}

// toTheEnd waits until no transaction is open and everything was read.
func (f *reader) toTheEnd(r *run) {
	r.await(f.topic+" is read to its end", func() (string, bool) {
		ctx, cancel := context.WithTimeout(r.job.Context(), 10*time.Second)
		defer cancel()
		all, err := f.admin.ListEndOffsets(ctx, f.topic)
		stable, err2 := f.admin.ListCommittedOffsets(ctx, f.topic)
		if err != nil || err2 != nil || all.Error() != nil || stable.Error() != nil {
			return fmt.Sprint(err, err2, all.Error(), stable.Error()), false
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		seen, ok := fmt.Sprint("next are ", f.next), true
		all.Each(func(o kadm.ListedOffset) {
			s, _ := stable.Lookup(o.Topic, o.Partition)
			seen += fmt.Sprintf("; %d is stable up to %d of %d", o.Partition, s.Offset, o.Offset)
			ok = ok && s.Offset == o.Offset && f.next[o.Partition] >= o.Offset
		})
		return seen, ok
	})
}
