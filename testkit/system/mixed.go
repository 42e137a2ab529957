package system

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/testkit/binaries"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

type mixed struct{}

// silence swallows requests of connections that have named a topic by its id, once it is on: the fetches of one mirror
// stop and those of another, over the same road, go on.
type silence struct {
	topic [16]byte
	on    atomic.Bool
}

func (s *silence) filter(way wire.Way, pass func([]byte)) func([]byte) {
	if way == wire.Down {
		return pass
	}
	named := false
	return func(b []byte) {
		if s.topic != [16]byte{} && bytes.Contains(b, s.topic[:]) {
			named = true
		}
		if !named || !s.on.Load() {
			pass(b)
		}
	}
}

// Run shows the hazard that the draft documents: one transaction over a SYNC and an ASYNC topic comes out of a failover
// committed in the one and aborted in the other, when the commit had not reached the ASYNC copy.
func (mixed) Run() error {
	return dc.Do("mixed", func(j *dc.Job) {
		j.Cleanup(binaries.Remove)
		quiet := &silence{}
		source, road := dc.StartBehind(j, process.Spec{Cluster: "dc1"}, dc.Filters{Kafka: quiet.filter})
		destination := dc.Start(j, process.Spec{Cluster: "dc2"})
		for topic, mirror := range map[string]string{"a": "sync", "b": "async"} {
			source.CreateTopic(j, topic, 1)
			destination.CreateMirror(j, mirror, source, "bootstrap.servers", road.Bootstrap())
		}
		quiet.topic = source.Partition(j, "b", 0).Topic
		destination.StartSync(j, "sync", "a")
		ctx, cancel := context.WithTimeout(j.Context(), 2*time.Minute)
		defer cancel()
		if _, err := destination.Admin.StartTopics(ctx, "async", []string{"b"}, nil, admin.Async); err != nil {
			j.Fatal(err)
		}
		destination.AwaitSync(j, "sync", "a")

		cl, err := kgo.NewClient(kgo.SeedBrokers(source.Bootstrap()...), kgo.TransactionalID("mixed"))
		if err != nil {
			j.Fatal(err)
		}
		defer cl.Close()
		if err := cl.BeginTransaction(); err != nil {
			j.Fatal(err)
		}
		for _, topic := range []string{"a", "b"} {
			if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("in the transaction")}).FirstErr(); err != nil {
				j.Fatal(err)
			}
		}
		arrived := func(offset int64) func() (string, bool) {
			return func() (string, bool) {
				now, err := destination.Describe(ctx, "async", "b")
				if err != nil || len(now.Partitions) == 0 {
					return fmt.Sprint(err), false
				}
				return dc.Sight(now), now.Partitions[0].DestinationOffset >= offset
			}
		}
		dc.Eventually(j, "b's record at the destination", arrived(1))
		quiet.on.Store(true)
		source.MustProduce(j, "b", 0, "ends the fetch that was under way")
		dc.Eventually(j, "the last answer", arrived(2))
		if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
			j.Fatal(err)
		}
		source.Kill()
		for topic, mirror := range map[string]string{"a": "sync", "b": "async"} {
			destination.StopTopic(j, mirror, topic)
			destination.AwaitStopped(j, mirror, topic)
		}
		for topic, want := range map[string]int{"a": 1, "b": 0} {
			got, err := committedOf(ctx, destination, topic)
			if err != nil {
				j.Fatal(err)
			}
			if n := got["in the transaction"]; n != want {
				j.Errorf("topic %s shows the record of the transaction %d times, want %d", topic, n, want)
			}
		}
		j.Logf("committed in a, which is SYNC, and aborted in b, which is ASYNC")
	})
}

// committedOf counts the values of a topic up to its end, with a record of its own as the end.
func committedOf(ctx context.Context, d *dc.Datacenter, topic string) (map[string]int, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.Bootstrap()...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return nil, fmt.Errorf("make a reader: %w", err)
	}
	defer cl.Close()
	const last = "the end"
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(last)}).FirstErr(); err != nil {
		return nil, fmt.Errorf("write the end of %s: %w", topic, err)
	}
	found := map[string]int{}
	for found[last] == 0 {
		f := cl.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			return nil, fmt.Errorf("read %s, seen %v: %w", topic, found, err)
		}
		f.EachRecord(func(r *kgo.Record) { found[string(r.Value)]++ })
	}
	return found, nil
}
