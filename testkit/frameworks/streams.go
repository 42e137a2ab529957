package frameworks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/testkit/jvm"
)

const (
	linesIn      = "lines"
	countsOut    = "counts"
	wordsPerLine = 6
	vocabulary   = 300
)

// wordCount is a Kafka Streams program under exactly_once_v2. Each word's count is written at each change of it, so what is
// committed for a word must be 1, 2, 3 … up to how often it was fed: the last value shows what was lost, and the
// steps before it what was counted twice on the way.
type wordCount struct {
	producer *kgo.Client
	rng      *rand.Rand
	sent     map[string]int
	failures chan error
	program  *jvm.Program
	state    string
	log      string
	tally    tally
}

func (w *wordCount) start(r *run) {
	r.cluster.CreateTopic(r.job, linesIn, 3)
	r.cluster.CreateTopic(r.job, countsOut, 3)
	w.rng, w.sent, w.failures = rand.New(rand.NewPCG(r.Seed, 2)), map[string]int{}, make(chan error, 1)
	dir := r.job.TempDir()
	w.state, w.log = filepath.Join(dir, "state"), filepath.Join(dir, "streams.log")
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Bootstrap()...), kgo.DefaultProduceTopic(linesIn), kgo.ProducerLinger(5*time.Millisecond),
		kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		r.job.Fatal(err)
	}
	w.producer = cl
	r.job.Cleanup(cl.Close)
	w.tally.follow(r)
	w.launch(r)
	r.job.Cleanup(func() { w.program.Kill() })
}

func (w *wordCount) launch(r *run) {
	p, err := r.home.Start(w.log, "WordCount", strings.Join(r.cluster.Bootstrap(), ","), linesIn, countsOut, w.state)
	if err != nil {
		r.job.Fatal(err)
	}
	w.program = p
}

func (w *wordCount) feed(ctx context.Context, _ int) error {
	words := make([]string, wordsPerLine)
	for i := range words {
		words[i] = fmt.Sprintf("word-%03d", w.rng.IntN(1+w.rng.IntN(vocabulary))) // some far more often than others
		w.sent[words[i]]++
	}
	// The record is in whatever becomes of the feeding: a client that gives up one would make the sum unknown.
	w.producer.Produce(context.WithoutCancel(ctx), kgo.StringRecord(strings.Join(words, " ")), func(_ *kgo.Record, err error) {
		if err != nil {
			select {
			case w.failures <- err:
			default:
			}
		}
	})
	select {
	case err := <-w.failures:
		return fmt.Errorf("a line was not taken: %w", err)
	default:
		return nil
	}
}

func (w *wordCount) out() int { return w.tally.records() / wordsPerLine }

func (w *wordCount) kill(r *run) {
	w.program.Kill()
	w.launch(r)
}

func (w *wordCount) settle(r *run) result {
	ctx, cancel := context.WithTimeout(r.job.Context(), time.Minute)
	defer cancel()
	if err := w.producer.Flush(ctx); err != nil {
		r.job.Fatalf("the last lines are not taken: %v", err)
	}
	want := 0
	for _, n := range w.sent {
		want += n
	}
	r.await("every word is counted", func() (string, bool) {
		if err, ended := w.program.Ended(); ended {
			r.job.Fatalf("the program ended: %v; its log is %s", err, w.log)
		}
		n := w.tally.records()
		return fmt.Sprintf("%d of %d counts", n, want), n >= want
	})
	w.tally.toTheEnd(r)
	w.tally.mu.Lock()
	made := w.tally.judge(w.sent)
	w.tally.mu.Unlock()
	text, err := os.ReadFile(w.log)
	if err != nil {
		r.job.Error(err)
	}
	made.Retaken = strings.Count(string(text), "a thread is replaced:")
	return made
}
