package fetcher

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// Addresses are reused: a rebuilt cluster, or a test one, answers where the source was. It would take an
// Unregister for one of an unknown topic, which ends a demotion while the source goes on gating.
func TestACommandIsNotGivenToAnotherCluster(t *testing.T) { // F34
	r := newRig(t, 1, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r.config["source.cluster.id"] = "elsewhere"
	_, err := r.fetchers.Call(ctx, r.config, messages.NewPtrUnregisterMirrorSyncTopicRequest())
	if !isUnsent(err) || !strings.Contains(err.Error(), "source") || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("given to cluster %q: %v", "source", err)
	}
}

// The same behind a broker's address, for data: metadata is read now and then, connections break at any time.
func TestNoDataIsTakenFromAnotherClusterAtABrokersAddress(t *testing.T) { // F34
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.config["source.cluster.id"] = "source"
	r.fast()
	r.peer.produce(0, 2, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 2)
	r.peer.change(func() { r.peer.cluster = "impostor" })
	r.peer.dropConnections()
	r.peer.produce(0, 2, true)
	r.home.await(t, "the refusal is reported", func() bool {
		return toldOf(r.home, func(c mirror.ReportFailure) bool { return strings.Contains(c.Text, "impostor") })
	})
	end := core.Offset(0)
	r.home.change(func() { end = l.end() })
	if end != 2 {
		t.Errorf("%d records of another cluster were mirrored", end-2)
	}
	r.peer.change(func() { r.peer.cluster = "source" })
	r.upTo(0, 4)
}

// A host that takes connections and says nothing is the first of the bootstrap addresses.
func TestABrokerThatSaysNothingDoesNotHideTheNext(t *testing.T) { // C8
	r := newRig(t, 1, nil)
	silent := listenBefore(t, r.peer.addr())
	defer silent.Close()
	config := map[string]string{"bootstrap.servers": silent.Addr().String() + "," + r.peer.addr()}
	c, err := ParseConfig(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	if addrs := c.Addresses(); addrs[0] != silent.Addr().String() {
		t.Fatalf("%v: the silent one is not asked first", addrs)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s, err := Discover(ctx, c, func(string) bool { return true }); err != nil || s.Cluster != "source" {
		t.Errorf("discovered %+v, %v", s, err)
	}
	ctx, again := context.WithTimeout(context.Background(), time.Second)
	defer again()
	// The peer breaks the connection behind a request that it does not know: it has reached it.
	if _, err := r.fetchers.Call(ctx, config, messages.NewPtrUnregisterMirrorSyncTopicRequest()); err == nil || isUnsent(err) || ctx.Err() != nil {
		t.Errorf("the request did not reach the peer: %v", err)
	}
}

// listenBefore listens at an address that is asked before another: a mirror asks them in order.
func listenBefore(t *testing.T, other string) net.Listener {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if l.Addr().String() < other {
			return l
		}
		defer l.Close()
	}
	t.Fatal("no address before " + other)
	return nil
}
