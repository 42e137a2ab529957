package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childMode makes this test binary a child that behaves as a clusterd would: well, or badly.
const childMode = "PROCESS_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(child(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func child(mode string, args []string) int {
	dirs, listen := []string{}, map[string]string{}
	for i := 1; i+1 < len(args); i += 2 {
		if args[i] == "--data-dir" {
			dirs = append(dirs, args[i+1])
		}
		listen[args[i]] = args[i+1]
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	switch mode {
	case "refuses":
		fmt.Fprintln(os.Stderr, "volume broker-1 is in use by another process")
		return 1
	case "never ready":
		fmt.Println("warming up")
		fmt.Fprintln(os.Stderr, "waiting for a quorum")
		<-term
		return 0
	}
	a := Addresses{ClusterID: listen["--cluster-id"], PID: os.Getpid(), NATS: listen["--nats-listen"] + listen["--nats-url"], HTTP: listen["--http-listen"]}
	host, port, _ := net.SplitHostPort(listen["--kafka-listen"])
	first, _ := strconv.Atoi(port)
	for i := range dirs {
		a.Kafka = append(a.Kafka, struct {
			Broker  int32  `json:"broker"`
			Address string `json:"address"`
		}{int32(i + 1), net.JoinHostPort(host, strconv.Itoa(first+i))})
	}
	raw, err := json.Marshal(a)
	if err == nil {
		if err = os.MkdirAll(dirs[0], 0o700); err == nil {
			err = os.WriteFile(filepath.Join(dirs[0], "run.json"), raw, 0o600)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("a line before")
	fmt.Println("ready cluster=" + a.ClusterID)
	fmt.Println("args " + strings.Join(args, " "))
	for range term {
		switch mode {
		case "deaf":
			fmt.Println("what?")
		case "closes badly":
			fmt.Fprintln(os.Stderr, "journal poisoned")
			return 3
		default:
			return 0
		}
	}
	return 0
}

func start(t *testing.T, mode string, change func(*Spec)) *Process {
	t.Helper()
	p, err := attempt(t, t.Context(), mode, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func attempt(t *testing.T, ctx context.Context, mode string, change func(*Spec)) (*Process, error) {
	t.Helper()
	t.Setenv(childMode, mode)
	s := Spec{Binary: os.Args[0], Cluster: "dc1", Dir: t.TempDir()}
	if change != nil {
		change(&s)
	}
	return Start(ctx, s)
}

// logged waits until the child's log holds a text: the log is copied beside what the test does.
func logged(t *testing.T, p *Process, text string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(p.Log(), text); {
		if time.Now().After(deadline) {
			t.Fatalf("the log never shows %q:\n%s", text, p.Log())
		}
		select {
		case <-p.done: // nothing more is written
			if !strings.Contains(p.Log(), text) {
				t.Fatalf("the child ended and its log does not show %q:\n%s", text, p.Log())
			}
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAReadyChildIsReachableAndRestartsOnItsPorts(t *testing.T) {
	p := start(t, "well", func(s *Spec) { s.Args = []string{"--debug"} })
	if len(p.Bootstrap()) != 3 || p.ClusterID != "dc1" || p.PID != p.cmd.Process.Pid || p.HTTP == "" {
		t.Errorf("run.json says %+v", p.Addresses)
	}
	logged(t, p, "a line before")
	logged(t, p, "--debug")
	p.Kill()
	p.Kill() // of a dead child is no mistake
	again, err := Start(t.Context(), p.Spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Kill)
	if !slices.Equal(again.Bootstrap(), p.Bootstrap()) || again.PID == p.PID {
		t.Errorf("after a restart %v (pid %d), before %v (pid %d)", again.Bootstrap(), again.PID, p.Bootstrap(), p.PID)
	}
	if err := again.Stop(10 * time.Second); err != nil {
		t.Error(err)
	}
}

func TestWhatTheChildIsCalledWith(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"three brokers": {func(*Spec) {}, "serve --cluster-id dc1 --data-dir D/broker-1 --data-dir D/broker-2 --data-dir D/broker-3 --kafka-listen 127.0.0.1:K --http-listen 127.0.0.1:H --nats-listen 127.0.0.1:N"},
		"one broker":    {func(s *Spec) { s.Brokers = 1 }, "serve --cluster-id dc1 --data-dir D --brokers 1 --kafka-listen 127.0.0.1:K --http-listen 127.0.0.1:H --nats-listen 127.0.0.1:N"},
		"a shared NATS": {func(s *Spec) { s.Brokers, s.NATSURL = 1, "nats://10.0.0.1:4222" }, "serve --cluster-id dc1 --data-dir D --brokers 1 --kafka-listen 127.0.0.1:K --http-listen 127.0.0.1:H --nats-url nats://10.0.0.1:4222"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, "well", c.change)
			logged(t, p, "args ")
			got := strings.NewReplacer(p.Dir, "D", fmt.Sprint(":", p.KafkaPort), ":K", fmt.Sprint(":", p.HTTPPort), ":H", fmt.Sprint(":", p.NATSPort), ":N").Replace(strings.Join(p.cmd.Args[1:], " "))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAChildThatDoesNotGetReadySaysWhy(t *testing.T) {
	if _, err := attempt(t, t.Context(), "refuses", nil); err == nil || !strings.Contains(err.Error(), "dc1") || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a child that refuses to start: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := attempt(t, ctx, "never ready", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a child that is never ready: %v", err)
	}
	if _, err := attempt(t, t.Context(), "well", func(s *Spec) { s.Binary = filepath.Join(s.Dir, "absent") }); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a binary that is not there: %v", err)
	}
}

func TestStopReportsHowTheChildEnded(t *testing.T) {
	if err := start(t, "closes badly", nil).Stop(10 * time.Second); err == nil || !strings.Contains(err.Error(), "exit code 3") || !strings.Contains(err.Error(), "journal poisoned") {
		t.Errorf("exit code 3: %v", err)
	}
	deaf := start(t, "deaf", nil)
	if err := deaf.Stop(100 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("a child that does not close: %v", err)
	}
	<-deaf.done
}

func TestAPausedChildGoesOn(t *testing.T) {
	p := start(t, "well", nil)
	if err := errors.Join(p.Pause(), p.Resume()); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(10 * time.Second); err != nil {
		t.Error(err)
	}
}

func TestTheTailKeepsTheEnd(t *testing.T) {
	l := &tail{w: io.Discard}
	for i := range 10000 {
		fmt.Fprintf(l, "line %d\n", i)
	}
	if s := l.String(); len(s) != 8<<10 || !strings.HasSuffix(s, "line 9999\n") {
		t.Errorf("%d bytes that end in %q", len(s), s[len(s)-20:])
	}
}

func TestFreePortsAreConsecutiveAndFree(t *testing.T) {
	base, err := FreePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", base+4))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if allFree(base, 5) {
		t.Errorf("ports from %d count as free while the last is taken", base)
	}
}
