// Package connections measures what clients that say nothing cost those that do.
package connections

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
)

// Command is `testkit connections`.
type Command struct {
	Idle   int           `default:"1000" help:"Connections that say nothing after their handshake; the full size is 10000."`
	Active int           `default:"100" help:"Connections that write a record, acks=all, and read it back, again and again; the full size is 1000."`
	Pace   time.Duration `default:"1s" help:"How often each active connection does so. A beat that is late counts from when it was due."`
	Length time.Duration `default:"5s" help:"How long each load lasts."`
	Rounds int           `default:"3" help:"Pairs of loads: the same one with the idle connections and without them."`
	Factor float64       `default:"2" help:"The most that the p99 with them may be of the p99 without them, in the median of the rounds."`
	Memory int64         `default:"512" help:"The most MiB that clusterd may have resident at any time."`
	JSON   bool          `help:"The report as JSON; progress goes to stderr."`
}

const (
	topic      = "connections"
	partitions = 12
)

// Run measures and reports; an error says which bound was missed.
func (c *Command) Run() error {
	if c.Idle < 1 || c.Active < 1 || c.Rounds < 1 || c.Pace <= 0 || c.Length < c.Pace {
		return fmt.Errorf("--idle %d --active %d --rounds %d --pace %s --length %s: use at least 1 of each, and a length of at least one pace", c.Idle, c.Active, c.Rounds, c.Pace, c.Length)
	}
	if err := raiseFiles(c.Idle + c.Active + spareFiles); err != nil {
		return err
	}
	bin, err := binaries.Build()
	if err != nil {
		return err
	}
	defer binaries.Remove()
	dir, err := os.MkdirTemp("", "lockstep-connections-")
	if err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := process.Start(ctx, process.Spec{Binary: bin.Clusterd, Cluster: "connections", Dir: dir})
	if err != nil {
		return err
	}
	defer p.Kill()
	m := &measurement{Command: c, proc: p}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	rep, err := m.measure()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.Log())
	}
	rep.show(c.JSON)
	return rep.judge(c)
}

// measurement is one run.
type measurement struct {
	*Command
	proc    *process.Process
	leaders []string // address of each partition's leader
	actives []*active
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (m *measurement) prepare(ctx context.Context) error {
	k, err := kgo.NewClient(kgo.SeedBrokers(m.proc.Bootstrap()...))
	if err != nil {
		return err
	}
	defer k.Close()
	adm := kadm.NewClient(k)
	if _, err := adm.CreateTopic(ctx, partitions, 3, nil, topic); err != nil {
		return fmt.Errorf("create topic: %w", err)
	}
	for {
		t, err := adm.Metadata(ctx, topic)
		if err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
		m.leaders = nil
		for _, p := range t.Topics[topic].Partitions.Sorted() {
			for _, b := range t.Brokers {
				if b.NodeID == p.Leader {
					m.leaders = append(m.leaders, fmt.Sprintf("%s:%d", b.Host, b.Port))
				}
			}
		}
		if len(m.leaders) == partitions {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d partitions have a leader: %w", len(m.leaders), partitions, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (m *measurement) measure() (*report, error) {
	rep := &report{Idle: m.Idle, Active: m.Active, PaceMs: m.Pace.Milliseconds(), LengthMs: m.Length.Milliseconds()}
	rep.Before = residentOf(m.proc.PID)
	for i := range m.Active {
		a, err := dialActive(m.leaders[i%partitions], int32(i%partitions))
		if err != nil {
			return nil, err
		}
		defer a.close()
		m.actives = append(m.actives, a)
	}
	progress("%d active connections; warming up", m.Active)
	if _, err := m.load(min(m.Length, 2*time.Second)); err != nil {
		return nil, err
	}
	for i := range m.Rounds {
		r := round{}
		kinds := []bool{false, true}
		if i%2 == 1 {
			slices.Reverse(kinds) // what drifts over a run must not always hit the same side
		}
		for _, idle := range kinds {
			l, err := m.once(idle)
			if err != nil {
				return nil, err
			}
			if idle {
				r.With = l
			} else {
				r.Without = l
			}
			progress("round %d of %d, %s: ack p50 %.1f p99 %.1f ms, read p50 %.1f p99 %.1f ms, %.0f MiB resident", i+1, m.Rounds, naming(idle, m.Idle),
				l.Ack.P50, l.Ack.P99, l.Read.P50, l.Read.P99, mib(l.Resident))
		}
		rep.Rounds = append(rep.Rounds, r)
	}
	rep.Peak = peakOf(m.proc.PID)
	rep.conclude()
	return rep, nil
}

func naming(idle bool, n int) string {
	if idle {
		return fmt.Sprintf("with %d idle ones", n)
	}
	return "without idle ones"
}

// once is one load, with or without the idle connections.
func (m *measurement) once(withIdle bool) (l load, err error) {
	if withIdle {
		before := residentOf(m.proc.PID)
		idle, err := dialIdle(m.proc.Bootstrap(), m.Idle)
		defer idle.close()
		grew := residentOf(m.proc.PID) - before
		if err != nil {
			return l, err
		}
		defer func() {
			if err == nil {
				err = idle.stillThere()
			}
		}()
		l, err = m.load(m.Length)
		l.Grew = max(0, grew)
		return l, err
	}
	return m.load(m.Length)
}

// load lets every active connection beat for a time.
func (m *measurement) load(length time.Duration) (l load, err error) {
	type outcome struct {
		beats []beat
		err   error
	}
	done := make(chan outcome, len(m.actives))
	began := time.Now()
	for i, a := range m.actives {
		// Spread over the pace, as clients that know nothing of each other are.
		first := began.Add(m.Pace * time.Duration(i) / time.Duration(len(m.actives)))
		go func() {
			beats, err := a.run(first, began.Add(length), m.Pace)
			done <- outcome{beats, err}
		}()
	}
	var acks, reads []float64
	for range m.actives {
		o := <-done
		if o.err != nil && err == nil {
			err = o.err
		}
		for _, b := range o.beats {
			acks, reads = append(acks, ms(b.ack)), append(reads, ms(b.read))
		}
	}
	if err != nil {
		return l, err
	}
	return load{Beats: len(acks), Ack: distributionOf(acks), Read: distributionOf(reads), Resident: residentOf(m.proc.PID)}, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (r *report) show(asJSON bool) {
	if asJSON {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			panic(err) // numbers only
		}
		fmt.Println(string(text))
		return
	}
	fmt.Print(r.table())
}
