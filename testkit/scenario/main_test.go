package scenario

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
	dc "lockstep/testkit/datacenter"
)

func TestMain(m *testing.M) {
	code := m.Run()
	binaries.Remove()
	os.Exit(code)
}

// two is a source behind wires and a destination that mirrors it over them.
type two struct {
	source, destination *dc.Datacenter
	road                dc.Road
}

// newTwo starts both, with a topic orders and a mirror dr that does not mirror it yet.
func newTwo(t *testing.T, source, destination process.Spec, partitions int32, f dc.Filters) two {
	t.Helper()
	source.Cluster, destination.Cluster = "dc1", "dc2"
	var p two
	p.source, p.road = dc.StartBehind(t, source, f)
	p.destination = dc.Start(t, destination)
	p.source.CreateTopic(t, "orders", partitions)
	p.destination.CreateMirror(t, "dr", p.source, "bootstrap.servers", p.road.Bootstrap(), "fetch.backoff.ms", "100")
	return p
}

var single = process.Spec{Brokers: 1}

// sync starts orders and waits until it is SYNC.
func (p two) sync(t *testing.T) dc.Described {
	t.Helper()
	p.destination.StartSync(t, "dr", "orders")
	return p.destination.AwaitSync(t, "dr", "orders")
}

// tool is kafka-cluster-mirrors.sh asking one cluster, as an operator types it.
func tool(t *testing.T, at *dc.Datacenter, args ...string) (out string, code int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kafka-cluster-mirrors.sh")
	if err := os.Symlink(dc.Products(t).Clusterctl, name); err != nil {
		t.Fatal(err)
	}
	return dc.Command(t, name, append([]string{"--bootstrap-server", at.Bootstrap()[0]}, args...)...)
}

func must(t *testing.T, at *dc.Datacenter, args ...string) string {
	t.Helper()
	out, code := tool(t, at, args...)
	if code != 0 {
		t.Fatalf("kafka-cluster-mirrors.sh %v ends with %d:\n%s", args, code, out)
	}
	return out
}

// createTopic makes one with settings.
func createTopic(t *testing.T, at *dc.Datacenter, name string, partitions int32, settings map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), dc.Patience)
	defer cancel()
	config := map[string]*string{}
	for key, value := range settings {
		config[key] = &value
	}
	created, err := kadm.NewClient(at.Admin.Kafka).CreateTopic(ctx, partitions, int16(at.Brokers), config, name)
	if err == nil {
		err = created.Err
	}
	if err != nil {
		t.Fatal(err)
	}
}
