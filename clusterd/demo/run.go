package demo

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/acked"
	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

const (
	topic  = "orders"
	mirror = "dr"
)

// run is one pair of datacenters from birth to verdict.
type run struct {
	*Command
	plan
	out         io.Writer
	binary, dir string
	began       time.Time

	source, destination *process.Process
	sourceAdmin         *admin.Client
	destinationAdmin    *admin.Client
	producer            *acked.Producer
}

type result struct {
	acked.Verdict
	run        int
	died       string
	p50, p99   time.Duration
	firstWrite time.Duration
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.out, "[%2d] %6.2fs  %s\n", r.number, time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

func (r *run) do(ctx context.Context) (res result, err error) {
	defer r.close()
	if err := r.startBoth(ctx); err != nil {
		return res, err
	}
	if err := r.mirrorTopic(ctx); err != nil {
		return res, err
	}
	load, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
	ended := make(chan struct{})
	go func() { r.producer.Run(load); close(ended) }()
	if err := r.waitForSync(ctx); err != nil {
		return res, err
	}
	if err := pause(ctx, r.load); err != nil {
		return res, err
	}
	res.run, res.died = r.number, "source"
	survivor := r.destination
	if r.destinationDies {
		res.died, survivor = "destination", r.source
		res.firstWrite, err = r.loseDestination(ctx)
	} else {
		res.firstWrite, err = r.loseSource(ctx)
	}
	if err != nil {
		return res, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return res, err
	}
	stopLoad()
	<-ended
	if err := r.producer.Drain(ctx); err != nil {
		return res, err
	}
	res.p50, res.p99 = r.producer.Latency(0.50), r.producer.Latency(0.99)
	r.say("reading everything back from %s", survivor.Cluster)
	res.Verdict, err = r.producer.Compare(ctx, survivor.Bootstrap())
	r.say("acked %d, found %d, lost %d, twice %d", res.Acked, res.Found, res.Lost, res.Duplicated)
	return res, err
}

func (r *run) startBoth(ctx context.Context) (err error) {
	args := []string{"--segment-bytes", "16777216"}
	if r.source, err = process.Start(ctx, process.Spec{Binary: r.binary, Cluster: "dc1", Dir: filepath.Join(r.dir, "dc1"), Args: args}); err != nil {
		return err
	}
	if r.destination, err = process.Start(ctx, process.Spec{Binary: r.binary, Cluster: "dc2", Dir: filepath.Join(r.dir, "dc2"), Args: args}); err != nil {
		return err
	}
	r.say("dc1 (source) at %s, dc2 (destination) at %s; three brokers each, fsync before every ack", r.source.Kafka[0].Address, r.destination.Kafka[0].Address)
	if r.sourceAdmin, err = admin.New(r.source.Bootstrap()); err != nil {
		return err
	}
	r.destinationAdmin, err = admin.New(r.destination.Bootstrap())
	return err
}

// mirrorTopic creates the topic and the mirror, with a first load that the mirror has to catch up with.
func (r *run) mirrorTopic(ctx context.Context) (err error) {
	created, err := kadm.NewClient(r.sourceAdmin.Kafka).CreateTopic(ctx, r.Partitions, 3, nil, topic)
	if err == nil {
		err = created.Err
	}
	if err != nil {
		return fmt.Errorf("create topic %s on dc1: %w", topic, err)
	}
	// Two seconds is the broker's time-out for acks=all: a dead destination shows soon.
	r.producer, err = acked.NewProducer(r.source.Bootstrap(), topic, uint64(r.number), r.Size, kgo.ProduceRequestTimeout(2*time.Second))
	if err != nil {
		return err
	}
	if _, err := r.destinationAdmin.CreateMirror(ctx, mirror, map[string]string{"bootstrap.servers": strings.Join(r.source.Bootstrap(), ",")}); err != nil {
		return fmt.Errorf("create mirror %s on dc2: %w", mirror, err)
	}
	results, err := r.destinationAdmin.StartTopics(ctx, mirror, []string{topic}, nil, admin.Sync)
	if err != nil {
		return fmt.Errorf("start topic %s in mirror %s: %w", topic, mirror, err)
	}
	for _, t := range results {
		if t.Err != nil {
			return fmt.Errorf("start topic %s in mirror %s: %w", t.Topic, mirror, t.Err)
		}
	}
	r.say("topic %s with %d partitions; mirror %s started with --sync, producer at full speed", topic, r.Partitions, mirror)
	return nil
}

// state is the destination's description of the topic.
func (r *run) state(ctx context.Context) (messages.DescribeClusterMirrorsResponseTopic, error) {
	mirrors, err := r.destinationAdmin.Describe(ctx, mirror)
	if err != nil {
		return messages.DescribeClusterMirrorsResponseTopic{}, fmt.Errorf("describe mirror %s: %w", mirror, err)
	}
	for _, m := range mirrors {
		for _, t := range m.Topics {
			if t.TopicName == topic {
				return t, nil
			}
		}
	}
	return messages.DescribeClusterMirrorsResponseTopic{}, nil
}

// until polls the destination and prints each new state.
func (r *run) until(ctx context.Context, reached func(messages.DescribeClusterMirrorsResponseTopic) bool) error {
	last := ""
	for {
		t, err := r.state(ctx)
		if err != nil {
			return err
		}
		if t.State != last {
			last = t.State
			r.say("dc2 says: %s", last)
		}
		if reached(t) {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("dc2 stays at %q: %w", last, err)
		}
	}
}

func (r *run) waitForSync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	return r.until(ctx, func(t messages.DescribeClusterMirrorsResponseTopic) bool {
		return t.EffectiveMirrorType == admin.Sync && !t.Partial && !t.Unconfirmed
	})
}

// loseSource kills the source, fails over by stopping the mirror, and moves the same client.
func (r *run) loseSource(ctx context.Context) (time.Duration, error) {
	killed := time.Now()
	r.source.Kill()
	r.say("kill -9 dc1 after %d acknowledgements", r.producer.Acked())
	results, err := r.destinationAdmin.StopTopics(ctx, mirror, []string{topic})
	if err != nil {
		return 0, fmt.Errorf("stop mirror %s: %w", mirror, err)
	}
	for _, t := range results {
		if t.Err != nil {
			return 0, fmt.Errorf("stop topic %s: %w", t.Topic, t.Err)
		}
	}
	next := r.producer.NextNew()
	if err := r.producer.MoveTo(r.destination.Bootstrap()); err != nil {
		return 0, err
	}
	if err := r.until(ctx, isStopped); err != nil {
		return 0, err
	}
	select {
	case <-next:
		took := time.Since(killed)
		r.say("the same client, producer id and sequences go on at dc2: first new write %s after the kill", ms(took))
		return took, nil
	case <-ctx.Done():
		n, failure := r.producer.Failed()
		return 0, fmt.Errorf("no new write was accepted by dc2 (%d given up: %v): %w", n, failure, ctx.Err())
	}
}

func isStopped(t messages.DescribeClusterMirrorsResponseTopic) bool {
	for _, p := range t.Partitions {
		if p.StateValue != "STOPPED" {
			return false
		}
	}
	return len(t.Partitions) > 0
}

func (r *run) close() {
	if r.producer != nil {
		r.producer.Client.Close()
	}
	for _, a := range []*admin.Client{r.sourceAdmin, r.destinationAdmin} {
		if a != nil {
			a.Close()
		}
	}
	for _, p := range []*process.Process{r.source, r.destination} {
		if p != nil {
			p.Kill()
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
