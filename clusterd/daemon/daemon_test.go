package daemon

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/config"
)

// process is one daemon of a test, in this process.
type process struct {
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
	ready map[string]string // the ready line's fields
}

func testConfig(t *testing.T) config.Config {
	return config.Config{ClusterID: "dc1", DataDir: []string{t.TempDir()}, KafkaListen: []string{"127.0.0.1:0"}, NATSListen: "127.0.0.1:0",
		HTTPListen: "127.0.0.1:0", Durability: "fsync", SegmentBytes: 16 << 20, Set: map[string]string{"group.initial.rebalance.delay.ms": "0"}}
}

func start(t *testing.T, c config.Config) *process {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &process{t: t, stop: stop, ended: make(chan error, 1), ready: map[string]string{}}
	r, w := io.Pipe()
	go func() {
		err := Run(ctx, c, testLog(), w)
		w.CloseWithError(io.EOF)
		p.ended <- err
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("not ready: %v", <-p.ended)
	}
	for _, field := range strings.Fields(line)[1:] {
		key, value, _ := strings.Cut(field, "=")
		p.ready[key] = value
	}
	t.Cleanup(p.close)
	return p
}

func testLog() *slog.Logger {
	if os.Getenv("DAEMON_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

func (p *process) close() {
	p.stop()
	if err := <-p.ended; err != nil {
		p.t.Error("close:", err)
	}
	p.ended <- nil
}

func (p *process) client(options ...kgo.Opt) *kgo.Client {
	p.t.Helper()
	options = append(options, kgo.SeedBrokers(strings.Split(p.ready["kafka"], ",")...), kgo.AllowAutoTopicCreation(), kgo.MetadataMinAge(50*time.Millisecond))
	c, err := kgo.NewClient(options...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.Close)
	return c
}

func (p *process) produce(topic string, from, to int) {
	p.t.Helper()
	c := p.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var list []*kgo.Record
	for i := from; i < to; i++ {
		list = append(list, &kgo.Record{Topic: topic, Value: []byte(fmt.Sprint(i))})
	}
	if err := c.ProduceSync(ctx, list...).FirstErr(); err != nil {
		p.t.Fatal("produce:", err)
	}
}

func (p *process) consume(topic string, n int) map[string]int {
	p.t.Helper()
	c := p.client(kgo.ConsumeTopics(topic), kgo.ConsumerGroup("g"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	seen := map[string]int{}
	for len(seen) < n {
		fetches := c.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			p.t.Fatalf("%d of %d records: %v", len(seen), n, fetches.Err())
		}
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
	}
	if err := c.CommitUncommittedOffsets(ctx); err != nil {
		p.t.Fatal("commit:", err)
	}
	return seen
}

func (p *process) http(method, path string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequest(method, "http://"+p.ready["http"]+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestAStockClientProducesAndConsumesAcrossARestart(t *testing.T) {
	c := testConfig(t)
	p := start(t, c)
	p.produce("orders", 0, 1000)
	for value, times := range p.consume("orders", 1000) {
		if times != 1 {
			t.Fatalf("%s came %d times", value, times)
		}
	}
	p.close()
	if _, err := os.Stat(filepath.Join(c.DataDir[0], "run.json")); !os.IsNotExist(err) {
		t.Fatalf("run.json after a clean close: %v", err)
	}
	again := start(t, c)
	again.produce("orders", 1000, 1200)
	seen := again.consume("orders", 200) // the group's offsets survived too
	if seen["1199"] != 1 || seen["0"] != 0 {
		t.Fatalf("after the restart %d records", len(seen))
	}
}

func TestABrokerStopsAndStartsOverHTTP(t *testing.T) {
	p := start(t, testConfig(t))
	p.produce("orders", 0, 10)
	if code, body := p.http("POST", "/v1/brokers/1/stop"); code != 200 {
		t.Fatal(code, body)
	}
	if _, body := p.http("GET", "/v1/brokers"); !strings.Contains(body, `"id":1,"live":false`) {
		t.Fatal(body)
	}
	p.produce("orders", 10, 20)
	if code, body := p.http("POST", "/v1/brokers/1/start"); code != 200 {
		t.Fatal(code, body)
	}
	if _, body := p.http("GET", "/v1/brokers"); !strings.Contains(body, `"id":1,"live":true`) {
		t.Fatal(body)
	}
	p.consume("orders", 20)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/metrics": 200, "/nothing": 404} {
		if code, _ := p.http("GET", path); code != want {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, body := p.http("POST", "/v1/brokers/9/stop"); code != 404 || !strings.Contains(body, "9") {
		t.Error(code, body)
	}
}

// Operators and scripts stop and start the same broker at once. Whatever comes last is what there is: a stopped broker
// has no listener, a started one has.
func TestStopsAndStartsAtOnceLeaveOneState(t *testing.T) {
	p := start(t, testConfig(t))
	address := strings.Split(p.ready["kafka"], ",")[1]
	listens := func() bool {
		c, err := net.DialTimeout("tcp", address, 5*time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	for range 5 {
		var all sync.WaitGroup
		for i := range 8 {
			verb := []string{"stop", "start"}[i%2]
			all.Go(func() {
				if code, body := p.http("POST", "/v1/brokers/2/"+verb); code != 200 {
					t.Errorf("%s: %d %s", verb, code, body)
				}
			})
		}
		all.Wait()
		if _, body := p.http("GET", "/v1/brokers"); strings.Contains(body, `"id":2,"live":true`) != listens() {
			t.Fatalf("the listener is there: %v, and the brokers are %s", listens(), body)
		}
	}
	if code, body := p.http("POST", "/v1/brokers/2/start"); code != 200 || !listens() {
		t.Errorf("start: %d %s", code, body)
	}
}

func TestBadStartsSayWhatIsWrong(t *testing.T) {
	c := testConfig(t)
	start(t, c).close()
	other := c
	other.ClusterID = "dc2"
	for name, broken := range map[string]struct {
		config config.Config
		want   string
	}{
		"directory of another cluster": {other, "dc1"},
		"directories out of order":     {outOfOrder(c), "belongs to broker 2 of cluster dc1, not to broker 1"},
		"directory is a file":          {withDir(c, fileIn(t)), "--data-dir"},
	} {
		err := Run(context.Background(), broken.config, testLog(), io.Discard)
		if err == nil || !strings.Contains(err.Error(), broken.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A directory that another process has open is not a lost volume, which a cluster would survive: both
// would serve.
func TestADirectoryInUseRefusesTheStartOfTheSecond(t *testing.T) {
	c := testConfig(t)
	defer start(t, c).close()
	second := c
	second.DataDir = []string{filepath.Join(t.TempDir(), "1"), filepath.Join(t.TempDir(), "2"), c.Dirs()[2]}
	second.Brokers = 0
	err := Run(context.Background(), second, testLog(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "held by another process") || !strings.Contains(err.Error(), c.Dirs()[2]) {
		t.Errorf("%v", err)
	}
}

// outOfOrder names the directories of c one by one, the first two exchanged.
func outOfOrder(c config.Config) config.Config {
	dirs := c.Dirs()
	c.DataDir, c.Brokers = []string{dirs[1], dirs[0], dirs[2]}, 0
	return c
}

func withDir(c config.Config, dir string) config.Config {
	c.DataDir = []string{dir}
	return c
}

func fileIn(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnEmptiedVolumeIsRefilledFromItsPeers(t *testing.T) {
	c := testConfig(t)
	p := start(t, c)
	p.produce("orders", 0, 500)
	p.close()
	if err := os.RemoveAll(filepath.Join(c.DataDir[0], "broker-1")); err != nil {
		t.Fatal(err)
	}
	again := start(t, c)
	again.consume("orders", 500)
	again.produce("orders", 500, 520)
	again.eventually("broker 1 is in every ISR again", func() bool {
		_, body := again.http("GET", "/metrics")
		return underReplicated.MatchString(body) && !someUnderReplicated.MatchString(body)
	})
	for _, id := range []string{"2", "3"} {
		if code, body := again.http("POST", "/v1/brokers/"+id+"/stop"); code != 200 {
			t.Fatal(code, body)
		}
	}
	again.readAll("orders", 520)
}

func TestAVolumeThatCannotBeOpenedLeavesTheOthersServing(t *testing.T) {
	c := testConfig(t)
	p := start(t, c)
	p.produce("orders", 0, 50)
	p.close()
	meta := filepath.Join(c.DataDir[0], "broker-2", "log", "meta")
	whole, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(meta, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(t, c)
	if _, body := again.http("GET", "/v1/brokers"); !strings.Contains(body, `"id":2,"live":false`) || !strings.Contains(body, "meta") {
		t.Fatal(body)
	}
	again.produce("orders", 50, 60)
	again.consume("orders", 60)
	if code, body := again.http("POST", "/v1/brokers/2/start"); code != 409 || !strings.Contains(body, "meta") {
		t.Fatal(code, body)
	}
	if err := os.WriteFile(meta, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, body := again.http("POST", "/v1/brokers/2/start"); code != 200 {
		t.Fatal(code, body)
	}
	again.eventually("broker 2 is in every ISR again", func() bool {
		_, body := again.http("GET", "/metrics")
		return underReplicated.MatchString(body) && !someUnderReplicated.MatchString(body)
	})
}

var (
	underReplicated     = regexp.MustCompile(`(?m)^kafka_server_replicamanager_underreplicatedpartitions\{broker="1"\} 0$`)
	someUnderReplicated = regexp.MustCompile(`(?m)^kafka_server_replicamanager_underreplicatedpartitions\{[^}]*\} [^0]`)
)

// readAll reads everything from the start, whatever the group has committed.
func (p *process) readAll(topic string, n int) {
	p.t.Helper()
	c := p.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	seen := map[string]int{}
	for len(seen) < n {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			p.t.Fatalf("%d of %d records: %v", len(seen), n, fetches.Err())
		}
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
	}
}

func (p *process) eventually(what string, cond func() bool) {
	p.t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			p.t.Fatal("never happened:", what)
		}
	}
}
