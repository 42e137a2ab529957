// Package pair proves the promises of synchronous mirroring on the real thing: one, two or three clusterd
// processes, their sockets and their directories, killed, paused and restarted.
package pair

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
	"lockstep/testkit/binaries"
	site "lockstep/testkit/datacenter"
)

const patience = site.Patience

// datacenter is the harness in this package's short words.
type datacenter struct {
	*site.Datacenter
	admin *admin.Client
}

func start(t *testing.T, s process.Spec) *datacenter {
	t.Helper()
	d := site.Start(t, s)
	return &datacenter{d, d.Admin}
}

// mirroredPair starts two clusters, the second of which mirrors topic orders of the first as mirror dr: it is SYNC.
func mirroredPair(t *testing.T, from, to process.Spec, partitions int32) (source, destination *datacenter) {
	t.Helper()
	source, destination = start(t, from), start(t, to)
	source.createTopic(t, "orders", partitions)
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	return source, destination
}

// backUp copies the directories of a cluster that is stopped for it, and says where to.
func (d *datacenter) backUp(t *testing.T) string {
	t.Helper()
	mustStop(t, d)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(d.Dir)); err != nil {
		t.Fatal(err)
	}
	d.restart(t)
	return backup
}

func products(t *testing.T) binaries.Paths { t.Helper(); return site.Products(t) }

func clusterctl(t *testing.T, args ...string) (string, int) {
	t.Helper()
	return site.Clusterctl(t, args...)
}

func eventually(t *testing.T, what string, look func() (seen string, ok bool)) {
	t.Helper()
	site.Eventually(t, what, look)
}

func await[V any](t *testing.T, what string, c <-chan V) V { t.Helper(); return site.Await(t, what, c) }

func (d *datacenter) restart(t *testing.T)              { t.Helper(); d.Restart(t) }
func (d *datacenter) pause(t *testing.T)                { t.Helper(); d.Freeze(t) }
func (d *datacenter) resume(t *testing.T)               { t.Helper(); d.Thaw(t) }
func (d *datacenter) stopBroker(t *testing.T, id int32) { t.Helper(); d.StopBroker(t, id) }
func (d *datacenter) startBroker(t *testing.T, id int32) {
	t.Helper()
	d.StartBroker(t, id)
}

func (d *datacenter) metric(t *testing.T, name string) float64 { t.Helper(); return d.Metric(t, name) }

func (d *datacenter) createTopic(t *testing.T, name string, partitions int32) {
	t.Helper()
	d.CreateTopic(t, name, partitions)
}

func (d *datacenter) createMirror(t *testing.T, mirror string, source *datacenter, more ...string) {
	t.Helper()
	d.CreateMirror(t, mirror, source.Datacenter, more...)
}

func (d *datacenter) startSync(t *testing.T, mirror, topic string) {
	t.Helper()
	d.StartSync(t, mirror, topic)
}

func (d *datacenter) alter(t *testing.T, mirror, topic string, kind int8) {
	t.Helper()
	d.Alter(t, mirror, topic, kind)
}

func (d *datacenter) stopTopic(t *testing.T, mirror, topic string) (warning string) {
	t.Helper()
	return d.StopTopic(t, mirror, topic)
}

func (d *datacenter) release(t *testing.T, mirror string, topics ...string) admin.Release {
	t.Helper()
	return d.Release(t, mirror, topics...)
}

type described = site.Described

func (d *datacenter) describe(ctx context.Context, mirror, topic string) (described, error) {
	return d.Describe(ctx, mirror, topic)
}

func (d *datacenter) awaitTopic(t *testing.T, mirror, topic, what string, wanted func(described) bool) described {
	t.Helper()
	return d.AwaitTopic(t, mirror, topic, what, wanted)
}

func (d *datacenter) awaitSync(t *testing.T, mirror, topic string) described {
	t.Helper()
	return d.AwaitSync(t, mirror, topic)
}

func (d *datacenter) awaitStopped(t *testing.T, mirror, topic string) described {
	t.Helper()
	return d.AwaitStopped(t, mirror, topic)
}

func sight(now described) string { return site.Sight(now) }
func inSync(now described) bool  { return site.InSync(now) }

// send is one Produce: version, acks, timeout, value.
type send struct {
	Version int16
	Acks    int16
	Timeout time.Duration
	Value   string
}

type answer struct {
	code perr.Code
	text string
	base int64
	err  error
}

func (a answer) String() string {
	return site.Answer{Code: a.code, Text: a.text, Base: a.base, Err: a.err}.String()
}

func answered(a site.Answer) answer { return answer{a.Code, a.Text, a.Base, a.Err} }

func acksAll(timeout time.Duration, value string) send { return send{14, -1, timeout, value} }

func (d *datacenter) produce(t *testing.T, topic string, index int32, s send) answer {
	t.Helper()
	return answered(d.Produce(t, topic, index, site.Send(s)))
}

func (d *datacenter) producing(t *testing.T, topic string, index int32, s send) <-chan answer {
	t.Helper()
	done, asked := make(chan answer, 1), d.Producing(t, topic, index, site.Send(s))
	go func() { done <- answered(<-asked) }()
	return done
}

func (d *datacenter) mustProduce(t *testing.T, topic string, index int32, value string) int64 {
	t.Helper()
	return d.MustProduce(t, topic, index, value)
}

type partitionView struct {
	topic   [16]byte
	address string
	leader  int32
	epoch   int32
	isr     []int32
}

func (d *datacenter) partition(t *testing.T, topic string, index int32) partitionView {
	t.Helper()
	v := d.Partition(t, topic, index)
	return partitionView{v.Topic, v.Address, v.Leader, v.Epoch, v.ISR}
}

type consumed struct {
	hw    int64
	bytes []byte
	bases []int64
}

func (d *datacenter) consume(t *testing.T, topic string, index int32) consumed {
	t.Helper()
	seen := d.Consume(t, topic, index)
	return consumed{seen.HW, seen.Bytes, seen.Bases}
}

func (c consumed) has(value string) bool { return site.Consumed{Bytes: c.bytes}.Has(value) }

func (d *datacenter) sameLogAs(t *testing.T, other *datacenter, topic string, partitions int32) {
	t.Helper()
	d.SameLogAs(t, other.Datacenter, topic, partitions)
}

type load struct{ *site.Load }

func (d *datacenter) produceUnderLoad(t *testing.T, topic string, more ...kgo.Opt) *load {
	t.Helper()
	return &load{d.ProduceUnderLoad(t, topic, more...)}
}

func (l *load) awaitMore(t *testing.T, n int)          { t.Helper(); l.AwaitMore(t, n) }
func (l *load) drain(t *testing.T)                     { t.Helper(); l.Finish(t) }
func (l *load) compare(t *testing.T, from *datacenter) { t.Helper(); l.Check(t, from.Datacenter) }
