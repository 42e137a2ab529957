// Package clients lets stock clients of several languages write and read the same cluster.
package clients

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
	"lockstep/testkit/fetched"
)

// Command is `testkit clients`.
type Command struct {
	Records      int      `default:"100000" help:"Records that each client writes."`
	Only         []string `help:"Only clients whose name contains one of these."`
	Bootstrap    string   `help:"Use this cluster instead of starting one."`
	Transactions bool     `help:"Write in transactions, every second one aborted, and read what is committed."`
	Migration    bool     `help:"A live classic group is joined by members of the consumer protocol (KIP-848), left by the others, and goes back."`
}

// Run has each client write its own topic and every client read all of them.
func (c *Command) Run() error {
	ctx := context.Background()
	stocks := slices.DeleteFunc(All(), func(s Stock) bool {
		if c.Migration {
			return s.Name != "Java"
		}
		return len(c.Only) > 0 && !slices.ContainsFunc(c.Only, func(o string) bool { return strings.Contains(s.Name, o) })
	})
	dirs := map[string]string{}
	for _, s := range stocks {
		dir, err := fetched.Dir(strings.Map(letters, cmp.Or(s.Folder, s.Name)))
		if err != nil {
			return err
		}
		dirs[s.Name] = dir
		began := time.Now()
		if err := s.Install(ctx, dirs[s.Name]); err != nil {
			return fmt.Errorf("install %s: %w", s.Name, err)
		}
		fmt.Printf("installed %-26s %5.1f s\n", s.Name, time.Since(began).Seconds())
	}
	work, err := os.MkdirTemp("", "lockstep-clients-")
	if err != nil {
		return fmt.Errorf("make work directory: %w", err)
	}
	defer os.RemoveAll(work)
	if c.Bootstrap == "" {
		stop, err := c.startCluster(ctx, filepath.Join(work, "cluster"))
		if err != nil {
			return err
		}
		defer stop()
	}
	if c.Migration {
		return c.migrate(ctx, work)
	}
	wrong, pairs := 0, 0
	fmt.Printf("\n%-26s %-26s %9s %8s  %s\n", "WRITTEN BY", "READ BY", "RECORDS", "SECONDS", "DIGEST")
	for _, writer := range stocks {
		produce := writer.Produce
		if c.Transactions {
			produce = writer.Transact
		}
		if produce == nil {
			continue // kcat has no transactions, and the members of nextGen only read
		}
		topic := "from-" + strings.Map(letters, writer.Name)
		file := filepath.Join(work, topic)
		if err := writeLines(file, topic, c.Records); err != nil {
			return err
		}
		if err := createTopic(ctx, c.Bootstrap, topic); err != nil {
			return err
		}
		began := time.Now()
		if err := produce(ctx, dirs[writer.Name], c.Bootstrap, topic, file); err != nil {
			return fmt.Errorf("%s writes %s: %w", writer.Name, topic, err)
		}
		want, n, err := digest(file)
		if err != nil {
			return err
		}
		fmt.Printf("%-26s %-26s %9d %8.1f  %.16s\n", writer.Name, "(the input)", n, time.Since(began).Seconds(), want)
		for _, reader := range stocks {
			out := filepath.Join(work, "read")
			began := time.Now()
			if err := reader.Consume(ctx, dirs[reader.Name], c.Bootstrap, topic, out, c.Records); err != nil {
				return fmt.Errorf("%s reads %s: %w", reader.Name, topic, err)
			}
			got, n, err := digest(out)
			if err != nil {
				return err
			}
			pairs++
			note := ""
			if got != want || n != c.Records {
				note, wrong = "  DIFFERS", wrong+1
			}
			fmt.Printf("%-26s %-26s %9d %8.1f  %.16s%s\n", writer.Name, reader.Name, n, time.Since(began).Seconds(), got, note)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d digests differ", wrong, pairs)
	}
	fmt.Printf("%d clients, %d pairs, all digests equal\n", len(stocks), pairs)
	return nil
}

func (c *Command) startCluster(ctx context.Context, dir string) (stop func(), err error) {
	bin, err := binaries.Build()
	if err != nil {
		return nil, err
	}
	start, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	p, err := process.Start(start, process.Spec{Binary: bin.Clusterd, Cluster: "clients", Dir: dir})
	if err != nil {
		return nil, err
	}
	c.Bootstrap = strings.Join(p.Bootstrap(), ",")
	return func() {
		if err := p.Stop(20 * time.Second); err != nil {
			fmt.Println(err)
		}
	}, nil
}

func createTopic(ctx context.Context, bootstrap, topic string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...))
	if err != nil {
		return fmt.Errorf("make admin client: %w", err)
	}
	defer cl.Close()
	res, err := kadm.NewClient(cl).CreateTopic(ctx, 6, -1, nil, topic)
	if err == nil {
		err = res.Err
	}
	if err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return nil
}

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '-'
}

// writeLines makes a file of distinct printable lines.
func writeLines(file, prefix string, n int) error {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("make input: %w", err)
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(prefix))))
	for i := range n {
		fmt.Fprintf(w, "%s-%07d-%016x%016x\n", prefix, i, r.Uint64(), r.Uint64())
	}
	return w.Flush()
}

// digest is independent of order, because a reader sees partitions in any order.
func digest(file string) (string, int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", 0, fmt.Errorf("read lines: %w", err)
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	slices.Sort(lines)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n")))), len(lines), nil
}
