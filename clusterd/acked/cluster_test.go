package acked

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/clusterd/config"
	"lockstep/clusterd/daemon"
)

// cluster runs one in this process and returns its listeners.
func cluster(t *testing.T) []string {
	t.Helper()
	c := config.Config{ClusterID: "dc1", DataDir: []string{t.TempDir()}, KafkaListen: []string{"127.0.0.1:0"}, NATSListen: "127.0.0.1:0",
		HTTPListen: "127.0.0.1:0", Durability: "os", SegmentBytes: 4 << 20}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	r, w := io.Pipe()
	go func() {
		err := daemon.Run(ctx, c, slog.New(slog.DiscardHandler), w)
		w.CloseWithError(io.EOF)
		ended <- err
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("not ready: %v", <-ended)
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error("close:", err)
		}
	})
	for _, field := range strings.Fields(line) {
		if list, ok := strings.CutPrefix(field, "kafka="); ok {
			return strings.Split(list, ",")
		}
	}
	t.Fatalf("ready line %q names no listeners", line)
	return nil
}

func TestReadingBackAgreesWithAClusterAndNoticesALie(t *testing.T) {
	seeds := cluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	p, err := NewProducer(seeds, "orders", 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Client.Close()
	if created, err := kadm.NewClient(p.Client).CreateTopic(ctx, 3, 3, nil, "orders"); err != nil || created.Err != nil {
		t.Fatal(err, created.Err)
	}
	empty, err := p.Compare(ctx, seeds)
	if err != nil || empty.Acked+empty.Found != 0 {
		t.Fatalf("an empty topic gives %+v, %v", empty, err)
	}
	// Another run in the same topic is not ours.
	other, err := NewProducer(seeds, "orders", 2, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Client.Close()
	for _, each := range []*Producer{p, other} {
		load, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() { each.Run(load); close(ended) }()
		for range 3 {
			select {
			case <-each.NextNew():
			case <-ctx.Done():
				t.Fatal("no acknowledgement:", ctx.Err())
			}
		}
		stop()
		<-ended
		if err := each.Drain(ctx); err != nil {
			t.Fatal(err)
		}
	}
	v, err := p.Compare(ctx, seeds)
	if err != nil {
		t.Fatal(err)
	}
	if v.Acked == 0 || v.Found < v.Acked || v.Lost != 0 || v.Duplicated != 0 {
		t.Errorf("the verdict is %+v", v)
	}
	p.acks[1<<40] = time.Now()
	lie, err := p.Compare(ctx, seeds)
	if err != nil || lie.Lost != 1 || !slices.Equal(lie.LostSample, []uint64{1 << 40}) || lie.Found != v.Found {
		t.Errorf("with one acknowledgement that never was: %+v, %v", lie, err)
	}
}
