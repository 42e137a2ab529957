// Package pair proves the promises of synchronous mirroring on the real thing: one, two or three clusterd
// processes, their sockets and their directories, killed, paused and restarted. Nothing here waits by
// the clock: every wait is for something that an operator or a client can see.
package pair

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/testkit/binaries"
)

// patience bounds every wait. It is long because the machine that runs the tests may be busy; nothing
// ever waits it out but a failing test.
const patience = 40 * time.Second

// datacenter is one clusterd process with its admin client.
type datacenter struct {
	*process.Process
	admin *admin.Client
}

func products(t *testing.T) binaries.Paths {
	t.Helper()
	bin, err := binaries.Build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// start runs a new cluster in its own directory until the end of the test.
func start(t *testing.T, s process.Spec) *datacenter {
	t.Helper()
	s.Binary = products(t).Clusterd
	if s.Dir == "" {
		s.Dir = filepath.Join(t.TempDir(), s.Cluster)
	}
	s.Args = append([]string{"--segment-bytes", "4194304"}, s.Args...)
	d := &datacenter{}
	d.run(t, s)
	cl, err := admin.New(d.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	d.admin = cl
	t.Cleanup(func() {
		d.admin.Close()
		d.Kill()
		if t.Failed() {
			t.Logf("log of %s ends with:\n%s", d.Cluster, d.Log())
		}
	})
	return d
}

func (d *datacenter) run(t *testing.T, s process.Spec) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := process.Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	d.Process = p
}

// restart starts the same data again, on the same ports, after a Kill or a Stop.
func (d *datacenter) restart(t *testing.T) {
	t.Helper()
	d.run(t, d.Spec)
}

func (d *datacenter) pause(t *testing.T) {
	t.Helper()
	if err := d.Pause(); err != nil {
		t.Fatalf("pause %s: %v", d.Cluster, err)
	}
}

func (d *datacenter) resume(t *testing.T) {
	t.Helper()
	if err := d.Resume(); err != nil {
		t.Fatalf("resume %s: %v", d.Cluster, err)
	}
}

// stopBroker and startBroker are what clusterctl brokers stop and start ask for.
func (d *datacenter) stopBroker(t *testing.T, id int32)  { t.Helper(); d.changeBroker(t, id, "stop") }
func (d *datacenter) startBroker(t *testing.T, id int32) { t.Helper(); d.changeBroker(t, id, "start") }

func (d *datacenter) changeBroker(t *testing.T, id int32, verb string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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

// metric is the sum of a metric over its labels; absent is 0.
func (d *datacenter) metric(t *testing.T, name string) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.HTTP+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("metrics of %s: %v", d.Cluster, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("metrics of %s: %v", d.Cluster, err)
	}
	sum := 0.0
	for line := range strings.Lines(string(body)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		bare, _, _ := strings.Cut(key, "{")
		var v float64
		if bare != name {
			continue
		}
		if _, err := fmt.Sscan(value, &v); err != nil {
			t.Fatalf("metric %s of %s: %v", name, d.Cluster, err)
		}
		sum += v
	}
	return sum
}

// eventually asks again and again until look is content. look says what it sees, for the failure.
func eventually(t *testing.T, what string, look func() (seen string, ok bool)) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		seen, ok := look()
		if ok {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %s; last seen: %s", what, patience, seen)
		}
	}
}

// await waits for a channel to close or deliver.
func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: not within %s", what, patience)
		panic("unreachable")
	}
}
