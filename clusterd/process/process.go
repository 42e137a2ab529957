// Package process starts, watches and kills clusterd child processes: the real binary, real sockets,
// real signals.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Addresses is run.json: where a running clusterd can be reached.
type Addresses struct {
	ClusterID string `json:"clusterId"`
	PID       int    `json:"pid"`
	Kafka     []struct {
		Broker  int32  `json:"broker"`
		Address string `json:"address"`
	} `json:"kafka"`
	Listeners []struct {
		Name      string   `json:"name"`
		Protocol  string   `json:"protocol"`
		Addresses []string `json:"addresses"`
	} `json:"listeners"`
	NATS string `json:"nats"`
	HTTP string `json:"http"`
}

// BootstrapOf lists the addresses of a listener in broker order, none if there is no such listener.
func (a Addresses) BootstrapOf(listener string) []string {
	for _, l := range a.Listeners {
		if strings.EqualFold(l.Name, listener) {
			return l.Addresses
		}
	}
	return nil
}

// Bootstrap lists the Kafka listeners in broker order.
func (a Addresses) Bootstrap() []string {
	out := make([]string, 0, len(a.Kafka))
	for _, k := range a.Kafka {
		out = append(out, k.Address)
	}
	return out
}

// Spec says what to run.
type Spec struct {
	Binary  string   // path of clusterd; its own executable when a clusterd runs others
	Cluster string   // --cluster-id
	Dir     string   // root of the data directories; kept across restarts
	Brokers int      // number of logical brokers, one data directory each
	Args    []string // further flags
	// NATSURL joins that NATS instead of the embedded one.
	NATSURL string
	// KafkaPort is broker 1's; the others take the next ones. Zero picks free ports for all three
	// services; Start with the Process's own Spec starts the same data again on the same ports.
	KafkaPort, NATSPort, HTTPPort int
}

// Process is a clusterd child. Methods may be called from any goroutine.
type Process struct {
	Spec
	Addresses
	cmd  *exec.Cmd
	log  *tail
	done chan struct{}
	err  error
}

// Start runs the child and waits for its ready line. An early exit or a missing ready line is an
// error that carries the end of the child's log.
func Start(ctx context.Context, s Spec) (*Process, error) {
	if s.Brokers == 0 {
		s.Brokers = 3
	}
	if s.KafkaPort == 0 {
		base, err := FreePorts(s.Brokers + 2)
		if err != nil {
			return nil, err
		}
		s.KafkaPort, s.NATSPort, s.HTTPPort = base, base+s.Brokers, base+s.Brokers+1
	}
	args := []string{"serve", "--cluster-id", s.Cluster}
	home := filepath.Join(s.Dir, "broker-1") // where run.json lies
	for i := 1; i <= s.Brokers && s.Brokers > 1; i++ {
		args = append(args, "--data-dir", filepath.Join(s.Dir, fmt.Sprintf("broker-%d", i)))
	}
	if s.Brokers == 1 { // a single directory would be split for three brokers
		home = s.Dir
		args = append(args, "--data-dir", s.Dir, "--brokers", "1")
	}
	args = append(args,
		"--kafka-listen", fmt.Sprintf("127.0.0.1:%d", s.KafkaPort),
		"--http-listen", fmt.Sprintf("127.0.0.1:%d", s.HTTPPort))
	if s.NATSURL != "" {
		args = append(args, "--nats-url", s.NATSURL)
	} else {
		args = append(args, "--nats-listen", fmt.Sprintf("127.0.0.1:%d", s.NATSPort))
	}
	args = append(args, s.Args...)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory of %s: %w", s.Cluster, err)
	}
	logFile, err := os.OpenFile(filepath.Join(s.Dir, "clusterd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", s.Cluster, err)
	}
	p := &Process{Spec: s, cmd: exec.Command(s.Binary, args...), log: &tail{w: logFile}, done: make(chan struct{})}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe stdout of %s: %w", s.Cluster, err)
	}
	p.cmd.Stderr = p.log
	// A child must not outlive a parent that is killed, and must not die of the terminal's Ctrl-C
	// before the parent has said how it is to end.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	ready := make(chan struct{})
	go p.run(stdout, started, ready)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Binary, err)
	}
	select {
	case <-ready:
	case <-p.done:
		return nil, fmt.Errorf("clusterd %s ended before it was ready: %w\n%s", s.Cluster, p.err, p.log.String())
	case <-ctx.Done():
		p.Kill()
		return nil, fmt.Errorf("clusterd %s not ready: %w\n%s", s.Cluster, ctx.Err(), p.log.String())
	}
	raw, err := os.ReadFile(filepath.Join(home, "run.json"))
	if err == nil {
		err = json.Unmarshal(raw, &p.Addresses)
	}
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("read run.json of %s: %w", s.Cluster, err)
	}
	return p, nil
}

// run owns the child. The starting goroutine stays locked to its thread for the child's life, because
// Linux delivers Pdeathsig when the thread that forked ends.
func (p *Process) run(stdout io.Reader, started chan<- error, ready chan<- struct{}) {
	lockThread()
	defer close(p.done)
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "ready ") {
			close(ready)
			break
		}
		_, _ = io.WriteString(p.log, line)
		if err != nil {
			break
		}
	}
	_, _ = io.Copy(p.log, lines) // the reader may hold more than the ready line
	p.err = p.cmd.Wait()
	if p.err == nil {
		p.err = errors.New("exit status 0")
	}
}

// Kill is kill -9, and waits until the child is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// Signal sends any signal; SIGQUIT makes the child write its goroutines into its log and end.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Stop asks for a clean close and reports how the child ended; after patience it kills.
func (p *Process) Stop(patience time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Kill()
		return fmt.Errorf("clusterd %s did not close within %s and was killed\n%s", p.Cluster, patience, p.log.String())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("clusterd %s closed with exit code %d\n%s", p.Cluster, code, p.log.String())
	}
	return nil
}

// Done is closed when the child has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Log is the end of what the child wrote.
func (p *Process) Log() string { return p.log.String() }

// tail writes through and keeps the last 8 KiB for error texts.
type tail struct {
	mu  sync.Mutex
	w   io.Writer
	end []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if over := len(t.end) - 8<<10; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return t.w.Write(b)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}
