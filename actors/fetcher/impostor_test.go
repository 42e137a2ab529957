package fetcher

import (
	"context"
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
