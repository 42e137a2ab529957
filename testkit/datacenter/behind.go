package datacenter

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"lockstep/clusterd/process"
	"lockstep/testkit/wire"
)

// Road is how others reach a datacenter: what it tells clients and mirrors are the wires' addresses. The harness's own
// clients go past them.
type Road struct {
	Kafka []*wire.Wire // by broker
	NATS  *wire.Wire
	told  []string // where callers are sent when that is not the wires themselves
}

// Bootstrap is bootstrap.servers for whoever comes over the road.
func (r Road) Bootstrap() string {
	if r.told != nil {
		return strings.Join(r.told, ",")
	}
	var list []string
	for _, w := range r.Kafka {
		list = append(list, w.Address())
	}
	return strings.Join(list, ",")
}

// All are the wires of a road.
func (r Road) All() []*wire.Wire { return append([]*wire.Wire{r.NATS}, r.Kafka...) }

// Each does something to every wire.
func (r Road) Each(do func(*wire.Wire)) {
	for _, w := range r.All() {
		do(w)
	}
}

// Heal ends every fault.
func (r Road) Heal(t T) {
	t.Helper()
	for _, w := range r.All() {
		if err := w.Heal(); err != nil {
			t.Fatal(err)
		}
	}
}

// Filters see what passes on a road; nil passes everything.
type Filters struct{ Kafka, NATS wire.Filter }

// StartBehind is Start of a cluster that is reached over wires.
func StartBehind(t T, s process.Spec, f Filters) (*Datacenter, Road) {
	t.Helper()
	if s.Brokers == 0 {
		s.Brokers = 3
	}
	base := Ports(t, s.Brokers+2)
	s.KafkaPort, s.NATSPort, s.HTTPPort = base, base+s.Brokers, base+s.Brokers+1
	road, past := Road{}, map[string]string{}
	at := Ports(t, s.Brokers+1)
	open := func(i int, to int, filter wire.Filter) *wire.Wire {
		w, err := wire.Listen(loopback(at+i), loopback(to), filter)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.End)
		past[w.Address()] = loopback(to)
		return w
	}
	for i := range s.Brokers {
		road.Kafka = append(road.Kafka, open(i, base+i, f.Kafka))
	}
	road.NATS = open(s.Brokers, s.NATSPort, f.NATS)
	s.Args = append([]string{"--advertise", road.Kafka[0].Address()}, s.Args...)
	if s.NATSURL == "" {
		s.Args = append(s.Args, "--nats-advertise", "nats://"+road.NATS.Address())
	}
	return startPast(t, s, past), road
}

func loopback(port int) string { return fmt.Sprint("127.0.0.1:", port) }

// Dial connects a client of the harness, past the wires of a road.
func (d *Datacenter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, network, d.real(address))
}

// Ports finds n free ones in a row and returns the first.
func Ports(t T, n int) int {
	t.Helper()
	base, err := process.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	return base
}
