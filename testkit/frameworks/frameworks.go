// Package frameworks runs what people build on Kafka, Kafka Streams and Kafka Connect, against a clusterd that is killed
// and whose brokers are stopped, and holds what comes out of them against what went in.
package frameworks

import (
	"context"
	"embed"
	"fmt"
	"math/rand/v2"
	"time"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/jvm"
)

//go:embed programs
var programs embed.FS

// Command is `testkit frameworks`.
type Command struct {
	What    string        `arg:"" optional:"" default:"all" enum:"all,streams,connect" help:"all, streams or connect."`
	Minutes float64       `default:"1" help:"How long each is fed under faults."`
	Rate    int           `default:"100" help:"Lines per second that each is fed."`
	Pause   time.Duration `default:"4s" help:"From the proof that one fault has passed to the next, on average."`
	Calm    bool          `help:"No faults."`
	Seed    uint64        `help:"Seed of the faults and of what is fed; 0 draws one."`
	JSON    string        `name:"json" type:"path" help:"Write the table to this file as JSON; - is standard output."`
}

// framework is what is under the faults. Its methods are called from one goroutine; they end the job on failure.
type framework interface {
	// start makes what it needs and runs it until it has taken its place.
	start(r *run)
	// feed puts one more line in; it returns early when the job ends.
	feed(ctx context.Context, n int) error
	// out is how many lines have come out so far, as far as that is known.
	out() int
	// kill is kill -9 of the framework's own process, and starts it again.
	kill(r *run)
	// settle waits until everything that was fed has come out, and judges it.
	settle(r *run) result
}

// run is one framework over one cluster.
type run struct {
	*Command
	name    string
	job     *dc.Job
	rng     *rand.Rand
	cluster *dc.Datacenter
	home    jvm.Home
	under   framework
	faults  map[string]int
	fed     int
	longest time.Duration // the longest that nothing came out
}

// result is what came out, and a row of the table.
type result struct {
	Framework string         `json:"framework"`
	Seed      uint64         `json:"seed"`
	Minutes   float64        `json:"minutes"`
	Fed       int            `json:"fed"`     // lines
	Records   int            `json:"records"` // read from the topic that was checked
	Missing   int            `json:"missing"`
	Wrong     int            `json:"wrong"` // out of order, more than were fed, never fed
	Twice     int            `json:"twice"` // allowed where the sink is at-least-once
	Retaken   int            `json:"retaken"`
	Longest   float64        `json:"longestStallSeconds"`
	Faults    map[string]int `json:"faults"`
	Notes     []string       `json:"notes"`
	Failures  []string       `json:"failures"`
}

// Run is each framework in turn.
func (c *Command) Run() error {
	if c.Rate < 1 || c.Minutes <= 0 {
		return fmt.Errorf("--rate %d, --minutes %g: both must be above 0", c.Rate, c.Minutes)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	defer binaries.Remove()
	home, err := c.install()
	if err != nil {
		return err
	}
	var results []result
	var failed error
	for _, name := range []string{"streams", "connect"} {
		if c.What != "all" && c.What != name {
			continue
		}
		r := &run{Command: c, name: name, home: home, rng: rand.New(rand.NewPCG(c.Seed, 1)), faults: map[string]int{}}
		made, err := r.do()
		if err != nil {
			failed = fmt.Errorf("%s, seed %d: %w", name, c.Seed, err)
		}
		results = append(results, made)
	}
	return tell(c.JSON, results, failed)
}

func (c *Command) install() (jvm.Home, error) {
	began := time.Now()
	ctx := context.Background()
	home, err := jvm.At("frameworks")
	if err != nil {
		return "", err
	}
	pom, err := programs.ReadFile("programs/pom.xml")
	if err != nil {
		return "", fmt.Errorf("read pom.xml: %w", err)
	}
	if err := home.Install(ctx, pom); err != nil {
		return "", err
	}
	source, err := programs.ReadFile("programs/WordCount.java")
	if err != nil {
		return "", fmt.Errorf("read WordCount.java: %w", err)
	}
	if err := home.Compile(ctx, "WordCount.java", source); err != nil {
		return "", err
	}
	fmt.Printf("installed Kafka Streams and Connect in %.1f s\n", time.Since(began).Seconds())
	return home, nil
}

// do is one framework from its start to its verdict.
func (r *run) do() (made result, err error) {
	err = dc.Do("frameworks-"+r.name, func(j *dc.Job) {
		r.job = j
		j.Logf("%s: seed %d, %g minutes, %d lines a second", r.name, r.Seed, r.Minutes, r.Rate)
		r.cluster = dc.Start(j, process.Spec{Cluster: r.name, Args: []string{"--set", "group.initial.rebalance.delay.ms=0"}})
		switch r.name {
		case "streams":
			r.under = &wordCount{}
		default:
			r.under = &copyThrough{}
		}
		r.under.start(r)
		ctx, stop := context.WithCancel(j.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- r.eat(ctx) }()
		r.weather()
		stop()
		if err := <-ended; err != nil {
			j.Fatal(err)
		}
		made = r.under.settle(r)
		if made.Missing+made.Wrong > 0 {
			j.Errorf("%s: %d missing, %d wrong: %v", r.name, made.Missing, made.Wrong, made.Notes)
		}
		made.Failures = j.Failures()
	})
	made.Framework, made.Seed, made.Minutes, made.Fed, made.Faults, made.Longest = r.name, r.Seed, r.Minutes, r.fed, r.faults, r.longest.Seconds()
	if err != nil && len(made.Failures) == 0 {
		made.Failures = []string{err.Error()}
	}
	return made, err
}

// eat feeds lines at an even rate until ctx ends.
func (r *run) eat(ctx context.Context) error {
	beat := time.NewTicker(time.Second / time.Duration(r.Rate))
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
		if err := r.under.feed(ctx, r.fed); err != nil {
			return err
		}
		r.fed++
	}
}
