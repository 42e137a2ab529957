// Package checker lets many clients of every kind write to and read from one clusterd that is killed, frozen and whose
// brokers are stopped, writes down what each of them did and saw, and holds that history against what Kafka promises.
package checker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
	dc "lockstep/testkit/datacenter"
)

// Command is `testkit checker`.
type Command struct {
	Minutes float64       `default:"1" help:"How long."`
	Rate    int           `default:"30" help:"Records per second of each writer."`
	Every   time.Duration `default:"4s" help:"Between two faults, on average."`
	Faults  string        `help:"Only faults whose name contains this."`
	Seed    uint64        `help:"Seed of clients and faults; 0 draws one."`
	Mirror  bool          `help:"Mirror both topics synchronously; at the end the source dies, and what is there is what its mirror has."`
	History string        `type:"path" help:"Write the history to this file. One that breaks a promise is always written."`
	Judge   string        `type:"path" help:"Run nothing: judge the history in this file."`
	JSON    string        `name:"json" type:"path" help:"Write the verdict to this file; - is standard output."`
}

// Run fails if a promise was broken.
func (c *Command) Run() error {
	if c.Judge != "" {
		h, err := Load(c.Judge)
		if err != nil {
			return err
		}
		return c.tell(h, Judge(h), nil)
	}
	if c.Rate < 1 || c.Minutes <= 0 || c.Every <= 0 {
		return fmt.Errorf("--rate %d, --minutes %v, --every %s: all must be above 0", c.Rate, c.Minutes, c.Every)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	var h *History
	var verdict Verdict
	rec := newRecorder()
	err := dc.Do("checker", func(j *dc.Job) {
		j.Cleanup(binaries.Remove)
		j.Logf("seed %d, %v minutes", c.Seed, c.Minutes)
		h = c.play(j, rec, time.Duration(c.Minutes*float64(time.Minute)))
		j.Logf("judging %d sends, %d polls, %d transactions, %d operations of the register", len(h.Sends), len(h.Polls), len(h.Txns), len(h.Register))
		if verdict = Judge(h); len(verdict.Violations) > 0 {
			j.Errorf("%d promises are broken, see below", len(verdict.Violations))
		}
	})
	if h == nil {
		return errors.Join(err, c.keep(rec))
	}
	return c.tell(h, verdict, err)
}

type spot struct {
	topic string
	index int32
}

// run is one cluster with its clients.
type run struct {
	*Command
	t          dc.T
	d, mirror  *dc.Datacenter
	rec        *recorder
	seeds      []string
	topics     []string
	partitions []spot
	number     map[spot]int
	settled    chan struct{} // closed once the logs at the end are known
	died       chan struct{} // closed when the cluster is about to be killed for good
	patience   time.Duration // for whatever ends a run
	next       int           // broker that was stopped last
	gaveUp     atomic.Int64  // records
	unanswered atomic.Int64  // writers that never heard of their last records
	written    atomic.Int64  // about the length of a partition
}

// play runs clients and faults for so long, and gives the history once everything is at rest.
func (c *Command) play(t dc.T, rec *recorder, long time.Duration) *History {
	r := &run{Command: c, t: t, rec: rec, topics: []string{"orders", "payments"}, number: map[spot]int{}, settled: make(chan struct{}), died: make(chan struct{}), patience: 2 * time.Minute}
	r.start()
	r.rec.h.Seed, r.rec.began = c.Seed, time.Now()
	for i, p := range r.partitions {
		r.number[p] = i
		r.rec.h.Partitions = append(r.rec.h.Partitions, fmt.Sprintf("%s/%d", p.topic, p.index))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	writing, endWriting := context.WithCancel(ctx)
	reading, endReading := context.WithCancel(ctx)
	grouped, endGroup := context.WithCancel(ctx)
	defer endWriting()
	defer endReading()
	defer endGroup()
	var writers, readers sync.WaitGroup
	for i, kind := range []WriterKind{Idempotent, Idempotent, Idempotent, Plain, Plain, Transactional, Transactional, Transactional} {
		r.rec.h.Writers = append(r.rec.h.Writers, kind)
		writers.Go(func() {
			if kind == Transactional {
				r.transact(writing, i)
			} else {
				r.write(writing, i, kind)
			}
		})
	}
	r.read(reading, grouped, &readers)
	calm, rested := context.WithTimeout(ctx, long)
	r.disturb(calm)
	rested()
	r.t.Logf("%s have passed; everybody comes to rest", long)
	if c.Mirror {
		close(r.died)
		r.d.Kill()
	}
	endWriting()
	writers.Wait()
	endReading()
	r.end()
	endGroup()
	readers.Wait()
	return &r.rec.h
}

// read starts every consumer, and whoever asks for offsets.
func (r *run) read(reading, grouped context.Context, all *sync.WaitGroup) {
	names := []Reader{{Name: "a reader of everything", ToEnd: true}, {Name: "a reader of what is committed", Committed: true, ToEnd: true},
		{Name: "a reader that jumps"}, {Name: "member 1", Committed: true, Group: true}, {Name: "member 2", Committed: true, Group: true}, {Name: "member 3", Committed: true, Group: true}}
	r.rec.add(func(h *History) { h.Readers = names })
	for i, reader := range names {
		all.Go(func() {
			switch {
			case reader.Group:
				r.member(grouped, i)
			case reader.ToEnd:
				r.follow(reading, i, reader.Committed)
			default:
				r.jump(reading, i)
			}
		})
	}
	for i := range 3 {
		all.Go(func() { r.set(grouped, i) })
	}
	for i := range 2 {
		all.Go(func() { r.measure(grouped, i) })
	}
	all.Go(func() { r.look(grouped) })
}

func (r *run) start() {
	set := []string{"--set", "group.initial.rebalance.delay.ms=0"}
	r.d = dc.Start(r.t, process.Spec{Cluster: "checker", Args: set})
	r.seeds = r.d.Bootstrap()
	for _, topic := range r.topics {
		r.d.CreateTopic(r.t, topic, registers)
		for i := range int32(registers) {
			r.partitions = append(r.partitions, spot{topic, i})
		}
	}
	if r.Mirror {
		r.mirrored()
	}
}

// mirrored makes a second cluster that has everything the first one acknowledges.
func (r *run) mirrored() {
	r.mirror = dc.Start(r.t, process.Spec{Cluster: "mirror"})
	r.mirror.CreateMirror(r.t, mirrorName, r.d)
	for _, topic := range r.topics {
		r.mirror.StartSync(r.t, mirrorName, topic)
		r.mirror.AwaitSync(r.t, mirrorName, topic)
	}
}

const mirrorName = "dr"

// end waits until all is written and read. If the cluster is dead, its mirror is opened.
func (r *run) end() {
	if r.mirror == nil {
		r.settle(r.seeds)
		return
	}
	for _, topic := range r.topics {
		r.mirror.StopTopic(r.t, mirrorName, topic)
		r.mirror.AwaitStopped(r.t, mirrorName, topic)
	}
	r.rec.add(func(h *History) { h.Mirrored = true })
	r.settle(r.mirror.Bootstrap())
}

// rest is how long whoever ends may wait for the cluster.
func (r *run) rest() (context.Context, context.CancelFunc) {
	long := r.patience
	select {
	case <-r.died:
		long = time.Second
	default:
	}
	return context.WithTimeout(context.Background(), long)
}

// progress prints a line now and then.
func (r *run) progress() {
	acked, sent, txns, polled, register, faults := r.rec.counts()
	r.written.Store(int64(acked / len(r.partitions)))
	r.t.Logf("%d faults, %d of %d records acknowledged, %d given up, %d transactions, %d records read, %d operations of the register",
		faults, acked, sent, r.gaveUp.Load(), txns, polled, register)
}

// keep saves the history of a run that did not come to its end: it cannot be judged, but read.
func (c *Command) keep(rec *recorder) error {
	path, err := c.file()
	if err == nil {
		rec.add(func(h *History) { err = h.Save(path) })
	}
	fmt.Printf("what was seen until then is in %s\n", path)
	return err
}

// file is where a history is written: where it was asked for, or a new place if it must be kept.
func (c *Command) file() (string, error) {
	if c.History != "" {
		return c.History, nil
	}
	dir, err := os.MkdirTemp("", "lockstep-history-")
	return filepath.Join(dir, fmt.Sprintf("%d.json.gz", c.Seed)), err
}
