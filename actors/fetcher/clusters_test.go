package fetcher_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/config"
	"lockstep/clusterd/daemon"
	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// cluster is a whole clusterd in this process.
type cluster struct {
	*testing.T
	ready map[string]string
	stop  context.CancelFunc
	ended chan error
}

func startCluster(t *testing.T, id string, set map[string]string) *cluster {
	t.Helper()
	conf := config.Config{ClusterID: id, DataDir: []string{t.TempDir()}, Brokers: 3, KafkaListen: []string{"127.0.0.1:0"}, NATSListen: "127.0.0.1:0",
		HTTPListen: "127.0.0.1:0", Durability: "fsync", SegmentBytes: 16 << 20, Set: set}
	if err := conf.Check(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &cluster{T: t, ready: map[string]string{}, stop: stop, ended: make(chan error, 1)}
	r, w := io.Pipe()
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("CLUSTERS_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("dc", id)
	}
	go func() {
		err := daemon.Run(ctx, conf, log, w)
		w.Close()
		c.ended <- err
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("%s is not ready: %v", id, <-c.ended)
	}
	for _, field := range strings.Fields(line)[1:] {
		key, value, _ := strings.Cut(field, "=")
		c.ready[key] = value
	}
	t.Cleanup(c.close)
	return c
}

func (c *cluster) close() {
	c.stop()
	if err := <-c.ended; err != nil {
		c.Error("close:", err)
	}
	c.ended <- nil
}

func (c *cluster) seeds() []string { return strings.Split(c.ready["kafka"], ",") }

func (c *cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.seeds()...), kgo.MetadataMinAge(50*time.Millisecond))...)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(cl.Close)
	return cl
}

func (c *cluster) admin() *admin.Client {
	c.Helper()
	a, err := admin.New(c.seeds())
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(a.Close)
	return a
}

// until asks again until ok holds.
func until(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("timed out: " + what)
		}
	}
}

func topicOf(t *testing.T, a *admin.Client, mirror string) messages.DescribeClusterMirrorsResponseTopic {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list, err := a.Describe(ctx, mirror)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		for _, topic := range m.Topics {
			return topic
		}
	}
	return messages.DescribeClusterMirrorsResponseTopic{}
}

// pair is two clusters with a mirrored topic of three partitions that has become SYNC.
type pair struct {
	*testing.T
	src, dst *cluster
	admin    *admin.Client
	producer *kgo.Client
	ctx      context.Context
	acked    map[string]bool
}

func startPair(t *testing.T, config map[string]string) *pair {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	p := &pair{T: t, src: startCluster(t, "src", nil), dst: startCluster(t, "dst", nil), ctx: ctx, acked: map[string]bool{}}
	p.producer = p.src.client(kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if _, err := kadm.NewClient(p.producer).CreateTopic(ctx, 3, 3, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	p.produce(20)
	p.admin = p.dst.admin()
	settings := map[string]string{"bootstrap.servers": strings.Join(p.src.seeds(), ",")}
	maps.Copy(settings, config)
	if _, err := p.admin.CreateMirror(ctx, "dr", settings); err != nil {
		t.Fatal(err)
	}
	if _, err := p.admin.StartTopics(ctx, "dr", []string{"orders"}, nil, admin.Sync); err != nil {
		t.Fatal(err)
	}
	p.untilSync()
	return p
}

func (p *pair) untilSync() {
	p.Helper()
	until(p.T, "SYNC", 20*time.Second, func() bool { return topicOf(p.T, p.admin, "dr").EffectiveMirrorType == admin.Sync })
}

// produce sends n records one after the other and remembers the acknowledged ones; it fails the test if one
// is not acknowledged in the end.
func (p *pair) produce(n int) {
	p.Helper()
	for range n {
		value := strconv.Itoa(len(p.acked))
		if err := p.producer.ProduceSync(p.ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			p.Fatalf("record %s: %v", value, err)
		}
		p.acked[value] = true
	}
}

// stop makes the mirrored topic writable; the source is not asked.
func (p *pair) stopMirror() {
	p.Helper()
	if _, err := p.admin.StopTopics(p.ctx, "dr", []string{"orders"}); err != nil {
		p.Fatal(err)
	}
	until(p.T, "STOPPED", 20*time.Second, func() bool { return topicOf(p.T, p.admin, "dr").Phase == "STOPPED" })
}

// everythingIsThere reads the destination and compares it with what was acknowledged.
func (p *pair) everythingIsThere() {
	p.Helper()
	consumer := p.dst.client(kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	found := map[string]int{}
	for len(found) < len(p.acked) {
		ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
		fetches := consumer.PollFetches(ctx)
		cancel()
		if fetches.Empty() {
			break
		}
		fetches.EachRecord(func(r *kgo.Record) { found[string(r.Value)]++ })
	}
	for value := range p.acked {
		if found[value] != 1 {
			p.Errorf("acknowledged record %s is %d times at the destination", value, found[value])
		}
	}
}

func (c *cluster) broker(verb string, id int) {
	c.Helper()
	resp, err := http.Post("http://"+c.ready["http"]+"/v1/brokers/"+strconv.Itoa(id)+"/"+verb, "", nil)
	if err != nil {
		c.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		c.Fatalf("%s broker %d: %s", verb, id, resp.Status)
	}
}

func TestWhatWasAcknowledgedIsAtTheDestination(t *testing.T) {
	p := startPair(t, nil)
	begin := time.Now()
	p.produce(100)
	t.Logf("100 acks one by one in %v", time.Since(begin))
	p.src.close() // the site is lost
	p.stopMirror()
	p.everythingIsThere()
}

// D19: NATS down, everything still works over the Kafka port. A fetch that parked while it owes a floor would
// hold every ack for its whole wait (F45), which is made so long here that a slow machine is not taken for it.
func TestWithoutNATSEverythingWorksOverTheKafkaPort(t *testing.T) {
	const wait, acks = 3 * time.Second, 10
	p := startPair(t, map[string]string{"lockstep.nats.url": "nats://127.0.0.1:1", "fetch.wait.max.ms": strconv.Itoa(int(wait.Milliseconds()))})
	begin := time.Now()
	p.produce(acks)
	d := time.Since(begin)
	t.Logf("%d acks one by one in %v", acks, d)
	if d > acks*wait/2 {
		t.Errorf("%d acks took %v: a parked fetch holds up the floors", acks, d)
	}
	p.src.close()
	p.stopMirror()
	p.everythingIsThere()
}

// Leaders move on both sides while records flow: every source epoch is checked and adopted, every new leader
// at home is aligned (R3, R4, F46).
func TestLeadersMayMoveOnBothSides(t *testing.T) {
	p := startPair(t, nil)
	p.produce(10)
	p.src.broker("stop", 1)
	p.produce(20)
	p.dst.broker("stop", 2)
	p.produce(20)
	p.src.broker("start", 1)
	p.dst.broker("start", 2)
	p.produce(20)
	p.src.broker("stop", 2)
	p.dst.broker("stop", 1)
	p.produce(20)
	p.untilSync()
	p.src.close()
	p.stopMirror()
	p.everythingIsThere()
}

// C5: the operator of the source releases us; data flows on, and the topic returns to SYNC by itself.
func TestAReleasedTopicKeepsItsDataFlowingAndReturns(t *testing.T) {
	p := startPair(t, nil)
	p.produce(10)
	a := p.src.admin()
	released, err := a.ReleaseSync(p.ctx, "dr", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if released.Number == 0 || released.Cluster != "dst" {
		t.Errorf("released as %+v", released)
	}
	begin := time.Now()
	p.produce(10)
	until(t, "demotion", 10*time.Second, func() bool { return topicOf(t, p.admin, "dr").EffectiveMirrorType == admin.Async })
	t.Logf("demoted after %v", time.Since(begin))
	p.untilSync()
	t.Logf("SYNC again after %v", time.Since(begin))
	p.produce(10)
	p.src.close()
	p.stopMirror()
	p.everythingIsThere()
}
