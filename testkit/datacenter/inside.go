package datacenter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/actors/broker"
	"lockstep/clusterd/config"
	"lockstep/clusterd/daemon"
	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
)

// Inside runs a whole clusterd in this process, whose brokers can be held back: Inner.Brokers()[i].HoldImage. It
// cannot be killed or frozen; the rest of the harness works on it.
func Inside(t T, cluster string, brokers int, set map[string]string) *Datacenter {
	t.Helper()
	dir := filepath.Join(t.TempDir(), cluster)
	conf := config.Config{ClusterID: cluster, DataDir: []string{dir}, Brokers: config.Count(brokers), KafkaListen: []string{loopback(0)}, NATSListen: loopback(0),
		HTTPListen: loopback(0), Durability: "fsync", SegmentBytes: 4 << 20, Set: set}
	if err := conf.Check(); err != nil {
		t.Fatal(err)
	}
	d := &Datacenter{}
	machine := daemon.Machine{Opened: func(c *broker.Cluster) { d.Inner = c }}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	r, w := io.Pipe()
	go func() {
		err := daemon.RunOn(ctx, machine, conf, slog.New(slog.DiscardHandler), w)
		w.CloseWithError(fmt.Errorf("%s ended: %w", cluster, err))
		ended <- err
	}()
	t.Cleanup(func() {
		if d.Admin != nil {
			d.Admin.Close()
		}
		stop()
		<-ended
	})
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	var at process.Addresses
	raw, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Process = &process.Process{Spec: process.Spec{Cluster: cluster, Dir: dir, Brokers: brokers}, Addresses: at}
	if d.Admin, err = admin.New(d.Bootstrap(), kgo.Dialer(d.Dial)); err != nil {
		t.Fatal(err)
	}
	return d
}
