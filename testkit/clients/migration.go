package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/testkit/jvm"
)

// migration is a group that never stops while its members change: those of the classic protocol are joined, and then
// replaced, by those of the consumer protocol, and the other way round.
type migration struct {
	bootstrap, work string
	home            jvm.Home
	admin           *kadm.Client
	began           time.Time

	mu      sync.Mutex
	sent    int
	seen    map[string]int // by the members of franz-go
	members map[string]func()
	failed  error // of the producer
}

const migrated = "migrated"

func (c *Command) migrate(ctx context.Context, work string) error {
	at, err := jvm.At(strings.Map(letters, "Java"))
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.Bootstrap, ",")...), kgo.DefaultProduceTopic(migrated))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	defer cl.Close()
	if err := createTopic(ctx, c.Bootstrap, migrated); err != nil {
		return err
	}
	m := &migration{bootstrap: c.Bootstrap, work: work, home: at, admin: kadm.NewClient(cl), began: time.Now(), seen: map[string]int{}, members: map[string]func(){}}
	feeding, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); m.feed(feeding, cl) }()
	defer func() {
		stop()
		<-ended
		for _, end := range m.members {
			end()
		}
	}()
	for _, step := range []struct {
		join, leave []string
		kind        string
		members     int
	}{
		{[]string{"java classic 1", "franz classic 1"}, nil, "classic", 2},
		{[]string{"java consumer 1"}, nil, "consumer", 3},
		{[]string{"franz consumer 1"}, nil, "consumer", 4},
		{nil, []string{"franz classic 1", "java classic 1"}, "consumer", 2},
		{[]string{"java classic 2", "franz classic 2"}, nil, "consumer", 4},
		{nil, []string{"franz consumer 1", "java consumer 1"}, "classic", 2},
		{[]string{"java consumer 2"}, []string{"franz classic 2"}, "consumer", 2},
	} {
		if err := m.step(ctx, step.join, step.leave, step.kind, step.members); err != nil {
			return err
		}
	}
	stop()
	<-ended
	if err := m.read(ctx); err != nil {
		return err
	}
	fmt.Printf("%d lines, each read; %d read more than once, which at-least-once allows\n", m.sent, m.twice())
	return m.failed
}

// step changes who is in, waits for the kind that the group must become, and for every line so far.
func (m *migration) step(ctx context.Context, join, leave []string, kind string, members int) error {
	for _, name := range join {
		if err := m.join(name); err != nil {
			return err
		}
	}
	for _, name := range leave {
		m.members[name]()
		delete(m.members, name)
	}
	seen, err := m.become(ctx, kind, members)
	if err != nil {
		return fmt.Errorf("after %v joined and %v left: the group is no stable %s one of %d: %s: %w", join, leave, kind, members, seen, err)
	}
	if err := m.read(ctx); err != nil {
		return fmt.Errorf("after %v joined and %v left: %w", join, leave, err)
	}
	fmt.Printf("%6.1fs  joined %v, left %v: a %s group of %d, %d lines read\n", time.Since(m.began).Seconds(), join, leave, kind, members, m.sent)
	return nil
}

func (m *migration) join(name string) error {
	modern := strings.Contains(name, "consumer")
	if strings.HasPrefix(name, "java") {
		protocol := "group.protocol=classic"
		if modern {
			protocol = "group.protocol=consumer"
		}
		p, err := m.home.Start(m.output(name), "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", m.bootstrap, "--topic", migrated, "--from-beginning",
			"--group", migrated, "--consumer-property", protocol)
		if err != nil {
			return err
		}
		m.members[name] = func() { p.Stop(30 * time.Second) }
		return nil
	}
	opts := []kgo.Opt{kgo.SeedBrokers(strings.Split(m.bootstrap, ",")...), kgo.ConsumerGroup(migrated), kgo.ConsumeTopics(migrated),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	if modern {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("make a member: %w", err)
	}
	go func() {
		for {
			fetches := cl.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			m.mu.Lock()
			fetches.EachRecord(func(r *kgo.Record) { m.seen[string(r.Value)]++ })
			m.mu.Unlock()
		}
	}()
	m.members[name] = cl.Close
	return nil
}

func (m *migration) output(name string) string {
	return filepath.Join(m.work, strings.Map(letters, name)+name[len(name)-1:]+".out")
}

// feed writes lines until ctx ends.
func (m *migration) feed(ctx context.Context, cl *kgo.Client) {
	for ctx.Err() == nil {
		line := fmt.Sprintf("line-%07d", m.sent)
		if err := cl.ProduceSync(context.WithoutCancel(ctx), kgo.StringRecord(line)).FirstErr(); err != nil {
			m.mu.Lock()
			m.failed = errors.Join(m.failed, fmt.Errorf("produce %s: %w", line, err))
			m.mu.Unlock()
			return
		}
		m.mu.Lock()
		m.sent++
		m.mu.Unlock()
	}
}

// counts are all lines that were read, and how often.
func (m *migration) counts() (map[string]int, int, error) {
	m.mu.Lock()
	all, sent := map[string]int{}, m.sent
	for line, n := range m.seen {
		all[line] = n
	}
	m.mu.Unlock()
	files, err := filepath.Glob(filepath.Join(m.work, "*.out"))
	if err != nil {
		return nil, 0, fmt.Errorf("find outputs: %w", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, 0, fmt.Errorf("read lines: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "line-") && strings.HasSuffix(line, "\n") {
				all[strings.TrimSpace(line)]++
			}
		}
	}
	return all, sent, nil
}

func (m *migration) twice() (n int) {
	all, _, err := m.counts()
	if err != nil {
		return -1
	}
	for _, times := range all {
		if times > 1 {
			n++
		}
	}
	return n
}

// read waits until every line that is in now was read.
func (m *migration) read(ctx context.Context) error {
	_, want, err := m.counts()
	for {
		if err != nil {
			return err
		}
		all, _, err := m.counts()
		if err != nil {
			return err
		}
		missing := 0
		for n := range want {
			if all[fmt.Sprintf("line-%07d", n)] == 0 {
				missing++
			}
		}
		if missing == 0 {
			return nil
		}
		if err := m.pause(ctx); err != nil {
			return fmt.Errorf("%d of %d lines are not read: %w", missing, want, err)
		}
	}
}

func (m *migration) become(ctx context.Context, kind string, members int) (seen string, err error) {
	for {
		listed, err := m.admin.ListGroups(ctx)
		if err != nil {
			return "", fmt.Errorf("list groups: %w", err)
		}
		g, n := listed[migrated], 0
		if g.GroupType == "classic" {
			if d, err := m.admin.DescribeGroups(ctx, migrated); err == nil {
				n = len(d[migrated].Members)
			}
		} else if d, err := m.admin.DescribeConsumerGroups(ctx, migrated); err == nil {
			n = len(d[migrated].Members)
		}
		seen = fmt.Sprintf("%s %s of %d", g.GroupType, g.State, n)
		if g.GroupType == kind && g.State == "Stable" && n == members {
			return seen, nil
		}
		if err := m.pause(ctx); err != nil {
			return seen, err
		}
	}
}

// pause waits a little; an error after the whole run took too long.
func (m *migration) pause(ctx context.Context) error {
	if time.Since(m.began) > 10*time.Minute {
		return errors.New("ten minutes are over")
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}
