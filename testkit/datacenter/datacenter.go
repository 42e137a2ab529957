// Package datacenter runs real clusterd processes for tests and for testkit's long proofs: started, killed,
// frozen and restarted, written to, read from and asked as their users do it. A failure ends the test. Nothing
// here waits by the clock: every wait is for something that an operator or a client can see.
package datacenter

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/actors/broker"
	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/testkit/binaries"
)

// Patience bounds every wait. It is long because the machine that runs the tests may be busy; nothing
// ever waits it out but a failing test.
const Patience = 100 * time.Second

// Datacenter is one clusterd process with its admin client.
type Datacenter struct {
	*process.Process
	Admin *admin.Client
	Inner *broker.Cluster   // of one that runs inside this process, else nil
	past  map[string]string // from an address it tells clients to the one that is really there
	pid   atomic.Int64      // of the newest process
}

// Products are the binaries, built once per process.
func Products(t T) binaries.Paths {
	t.Helper()
	bin, err := binaries.Build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// Start runs a new cluster in its own directory until the end of the test.
func Start(t T, s process.Spec) *Datacenter { t.Helper(); return startPast(t, s, nil) }

func startPast(t T, s process.Spec, past map[string]string) *Datacenter {
	t.Helper()
	s.Binary = Products(t).Clusterd
	if s.Dir == "" {
		s.Dir = filepath.Join(t.TempDir(), s.Cluster)
	}
	s.Args = append([]string{"--segment-bytes", "4194304"}, s.Args...)
	d := &Datacenter{past: past}
	d.run(t, s)
	cl, err := admin.New(d.Bootstrap(), kgo.Dialer(d.Dial))
	if err != nil {
		t.Fatal(err)
	}
	d.Admin = cl
	t.Cleanup(func() {
		d.Admin.Close()
		d.Kill()
		if t.Failed() {
			t.Logf("log of %s ends with:\n%s", d.Cluster, d.Log())
		}
	})
	return d
}

func (d *Datacenter) run(t T, s process.Spec) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	p, err := process.Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	d.Process = p
	d.pid.Store(int64(p.PID))
}

// Restart starts the same data again, on the same ports, after a Kill or a Stop.
func (d *Datacenter) Restart(t T) {
	t.Helper()
	d.run(t, d.Spec)
}

// Freeze is SIGSTOP: the process is there and says nothing.
func (d *Datacenter) Freeze(t T) {
	t.Helper()
	if err := d.Pause(); err != nil {
		t.Fatalf("pause %s: %v", d.Cluster, err)
	}
}

// Thaw ends a Freeze.
func (d *Datacenter) Thaw(t T) {
	t.Helper()
	if err := d.Resume(); err != nil {
		t.Fatalf("resume %s: %v", d.Cluster, err)
	}
}

// StopBroker is what clusterctl brokers stop asks for.
func (d *Datacenter) StopBroker(t T, id int32) { t.Helper(); d.changeBroker(t, id, "stop") }

// StartBroker is what clusterctl brokers start asks for.
func (d *Datacenter) StartBroker(t T, id int32) { t.Helper(); d.changeBroker(t, id, "start") }

func (d *Datacenter) changeBroker(t T, id int32, verb string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://%s/v1/brokers/%d/%s", d.HTTP, id, verb), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s broker %d of %s: %v", verb, id, d.Cluster, err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode >= 300 {
		t.Fatalf("%s broker %d of %s: %s: %s", verb, id, d.Cluster, res.Status, body)
	}
}

// Eventually asks again and again until look is content. look says what it sees, for the failure.
func Eventually(t T, what string, look func() (seen string, ok bool)) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		seen, ok := look()
		if ok {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %s; last seen: %s", what, Patience, seen)
		}
	}
}

// Await waits for a channel to close or deliver.
func Await[V any](t T, what string, c <-chan V) V {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Patience):
		t.Fatalf("%s: not within %s", what, Patience)
		panic("unreachable")
	}
}
