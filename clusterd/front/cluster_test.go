package front

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/actors/shell"
	"lockstep/clusterd/process"
	"lockstep/journal"
	"lockstep/journal/memory"
)

// house is a cluster with its listeners on memory journals: everything but disks is real.
type house struct {
	t        *testing.T
	id       core.ClusterID
	volumes  []*memory.Journal
	control  *memory.Journal
	quorum   journal.Journal // takes the place of control; nil: it does not
	settings map[string]string
	limits   Limits
	source   Source
	listener Listener // how brokers are reached
	// retention of offsets, looked at as often; 0: the default.
	retention time.Duration
	session   time.Duration // of members of the consumer protocol; 0: the default

	clock   *shell.RealClock
	cluster *broker.Cluster
	memory  *Memory
	traffic *Traffic
	fronts  []*Front
	addrs   []string
}

// newHouse starts n brokers of cluster dc1. It is closed with the test.
func newHouse(t *testing.T, n int) *house {
	t.Helper()
	return newHouseOf(t, "dc1", n)
}

func newHouseOf(t *testing.T, id core.ClusterID, n int) *house {
	t.Helper()
	h := &house{t: t, id: id, source: askedSource{}, control: memory.New(memory.Options{}), settings: map[string]string{}, limits: DefaultLimits(), memory: NewMemory(ProcessBytes), traffic: &Traffic{}}
	for range n {
		h.volumes = append(h.volumes, memory.New(memory.Options{}))
	}
	t.Cleanup(h.stop)
	h.start()
	return h
}

func testLogger() *slog.Logger {
	level := slog.LevelError + 4
	if os.Getenv("FRONT_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

func (h *house) start() {
	h.t.Helper()
	var lines []net.Listener
	before := h.addrs
	h.addrs, h.fronts = nil, nil
	h.clock = shell.NewRealClock()
	options := broker.Options{Cluster: h.id, Control: h.control, Clock: h.clock, Logger: testLogger(), Groups: group.DefaultSettings(), Settings: h.settings,
		Exit: func(why string) { panic("the cluster gives up: " + why) }}
	if h.quorum != nil {
		options.Control = h.quorum
	}
	options.Groups.InitialDelayMs = 0
	options.Groups.MinSessionMs = 1
	options.Groups.HeartbeatMs = 50
	if h.session > 0 {
		options.Groups.ConsumerSessionMs = h.session.Milliseconds()
	}
	if h.retention > 0 {
		options.RetentionCheckMs = h.retention.Milliseconds()
		options.Groups.RetentionMs, options.Groups.RetentionCheckMs = h.retention.Milliseconds(), h.retention.Milliseconds()
	}
	for i, v := range h.volumes {
		address := ""
		if i < len(before) {
			address = before[i] // where clients go on looking for it
		}
		l := h.listen(address)
		lines = append(lines, l)
		h.addrs = append(h.addrs, l.Addr().String())
		options.Volumes = append(options.Volumes, broker.Volume{ID: core.ReplicaID(i + 1), Store: v, Dir: h.t.TempDir(),
			Host: "127.0.0.1", Port: int32(l.Addr().(*net.TCPAddr).Port)})
	}
	c, err := broker.Start(options)
	if err != nil {
		h.t.Fatal(err)
	}
	h.cluster = c
	for i, b := range c.Brokers() {
		may, err := access.ReadSettings(h.settings)
		if err != nil {
			h.t.Fatal(err)
		}
		f := New(Config{Cluster: c, Broker: b, Memory: h.memory, Traffic: h.traffic, Limits: h.limits, Settings: h.settings, Access: may, Source: h.source, Log: testLogger()})
		h.fronts = append(h.fronts, f)
		go f.Serve(lines[i], h.listener)
	}
}

// listen takes an address, or any if it is "". Tests of other processes try ports for a moment to see whether they are free.
func (h *house) listen(address string) (l net.Listener) {
	h.t.Helper()
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		at := address
		if at == "" {
			if at, err = process.FreeAddress(); err != nil {
				h.t.Fatal(err)
			}
		}
		if l, err = net.Listen("tcp", at); err == nil {
			return l
		}
	}
	h.t.Fatal(err)
	return nil
}

func (h *house) stop() {
	if h.cluster == nil {
		return
	}
	for _, f := range h.fronts {
		f.Close()
	}
	h.cluster.Close()
	h.cluster = nil
	h.clock.Close()
}

func (h *house) restart() {
	h.t.Helper()
	h.stop()
	h.start()
}

func (h *house) client(opts ...kgo.Opt) *kgo.Client {
	h.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(h.addrs...), kgo.MetadataMinAge(10 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond })}, opts...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

func (h *house) create(topic string, partitions int32, replicas int16, config map[string]*string) kadm.CreateTopicResponse {
	h.t.Helper()
	r, err := kadm.NewClient(h.client()).CreateTopic(patient(h.t), partitions, replicas, config, topic)
	if err != nil {
		h.t.Fatalf("create %s: %v (%s)", topic, err, r.ErrMessage)
	}
	return r
}

// patient is a context that ends before the test would hang.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// values are records numbered within a name, so that loss and duplication show.
func values(name string, n int) []*kgo.Record {
	var list []*kgo.Record
	for i := range n {
		list = append(list, kgo.StringRecord(fmt.Sprintf("%s-%d", name, i)))
	}
	return list
}

// produce sends records to a topic and wants every one acknowledged.
func (h *house) produce(topic string, records []*kgo.Record, opts ...kgo.Opt) {
	h.t.Helper()
	c := h.client(append(opts, kgo.DefaultProduceTopic(topic))...)
	if err := c.ProduceSync(patient(h.t), records...).FirstErr(); err != nil {
		h.t.Fatalf("produce to %s: %v", topic, err)
	}
}

// consume reads a topic from the start until it has n values, and returns them sorted.
func (h *house) consume(topic string, n int, opts ...kgo.Opt) []string {
	h.t.Helper()
	c := h.client(append(opts, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	return poll(h.t, c, n)
}

func poll(t *testing.T, c *kgo.Client, n int) []string {
	t.Helper()
	var got []string
	for ctx := patient(t); len(got) < n; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("after %d of %d values: %v", len(got), n, err)
		}
		fetches.EachError(func(topic string, p int32, err error) { t.Fatalf("%s/%d: %v", topic, p, err) })
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	slices.Sort(got)
	return got
}

func sortedValues(records []*kgo.Record) []string {
	var list []string
	for _, r := range records {
		list = append(list, string(r.Value))
	}
	slices.Sort(list)
	return list
}

func wantEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %d values %s, want %d %s", what, len(got), clip(got), len(want), clip(want))
	}
}

func clip(list []string) string {
	s := strings.Join(list, " ")
	return s[:min(len(s), 200)]
}

// raw asks one broker in one version over a connection of its own and decodes strictly: the answer must
// be exactly what the version's encoding of it is.
func (h *house) raw(broker int, r kmsg.Request, version int16) kmsg.Response {
	h.t.Helper()
	c := dial(h.t, h.addrs[broker-1])
	defer c.Close()
	sendRequest(h.t, c, 42, r, version)
	correlation, body := readResponse(h.t, c)
	if correlation != 42 {
		h.t.Fatalf("correlation %d, want 42", correlation)
	}
	return decodeStrictly(h.t, r, body)
}

func sendRequest(t *testing.T, c net.Conn, correlation int32, r kmsg.Request, version int16) {
	t.Helper()
	r.SetVersion(version)
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw"))
	if _, err := c.Write(f.AppendRequest(nil, r, correlation)); err != nil {
		t.Fatal(err)
	}
}

func decodeStrictly(t *testing.T, r kmsg.Request, body []byte) kmsg.Response {
	t.Helper()
	resp := r.ResponseKind()
	if resp.IsFlexible() && r.Key() != 18 {
		if len(body) == 0 || body[0] != 0 {
			t.Fatalf("%T v%d: the flexible header has no tag section: %x", r, r.GetVersion(), body)
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		t.Fatalf("%T v%d: %v in %x", r, r.GetVersion(), err, body)
	}
	if again := resp.AppendTo(nil); string(again) != string(body) {
		t.Fatalf("%T v%d: the answer is not in the form of its version:\n got %x\nwant %x", r, r.GetVersion(), body, again)
	}
	return resp
}
