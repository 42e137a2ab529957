package pair

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
	"lockstep/testkit/peer"
)

// plainSource is a cluster that speaks only the draft, and a mirror of it on d.
func (d *datacenter) plainSource(t *testing.T, fetch int16, settings ...string) *peer.Source {
	t.Helper()
	s, err := peer.StartSource("plain", "orders", fetch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Drop)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	config := map[string]string{"bootstrap.servers": s.Addr(), "metadata.refresh.interval.ms": "500", "fetch.wait.max.ms": "200",
		"mirror.sync.topic.demote.timeout.ms": "1000", "lockstep.claim.lease.ms": "2000"}
	for i := 0; i < len(settings); i += 2 {
		config[settings[i]] = settings[i+1]
	}
	if _, err := d.admin.CreateMirror(ctx, "dr", config); err != nil {
		t.Fatal(err)
	}
	return s
}

// ackedBy produces at a plain source and says when the acknowledgement came.
func ackedBy(t *testing.T, s *peer.Source, value string) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	at, err := s.Produce(ctx, value)
	if err != nil {
		t.Fatalf("produce %q: %v; the source: %+v", value, err, s.State())
	}
	return at
}

func notAcked(t *testing.T, s *peer.Source, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Produce(ctx, value); err == nil {
		t.Errorf("%q was acknowledged without the destination", value)
	}
}

func asReported(now described) bool {
	return inSync(now) && strings.HasPrefix(now.State, "SYNC (as reported by the peer)") && now.Class == "REPORTED"
}

// One life under a source that speaks only the draft: SYNC by its word, gating, release, recovery, a new leader,
// and the source's end.
func TestASourceThatSpeaksOnlyTheKIP(t *testing.T) {
	t.Parallel()
	destination := start(t, process.Spec{Cluster: "dc2"})
	source := destination.plainSource(t, 20)
	ackedBy(t, source, "before the mirror")
	destination.startSync(t, "dr", "orders")
	now := destination.awaitTopic(t, "dr", "orders", "SYNC by the peer's word", asReported)
	for _, p := range now.Partitions {
		if p.ZeroRpoFrom >= 0 {
			t.Errorf("zero RPO from %d is claimed on a peer's word", p.ZeroRpoFrom)
		}
	}
	if !source.Registered("dr") {
		t.Fatal("SYNC without a registration")
	}
	ackedBy(t, source, "gated")

	destination.pause(t)
	notAcked(t, source, "while nobody reports")
	destination.resume(t)
	ackedBy(t, source, "and on")
	for _, l := range source.State().Lists {
		if len(l.ISR) == 0 || l.MinISR < 1 || slices.ContainsFunc(l.ISR, func(r int32) bool { end, said := l.Ends[r]; return !said || end > l.Offset }) {
			t.Fatalf("the source was told %+v", l)
		}
	}

	source.Release("dr")
	notGated := ackedBy(t, source, "released")
	destination.awaitTopic(t, "dr", "orders", "SYNC again", func(now described) bool {
		return asReported(now) && now.ClaimTimeMs > notGated.UnixMilli()
	})
	if recovers := source.State().Recovers; !recovers[len(recovers)-1] || recovers[0] {
		t.Errorf("the Registers said recovery %v", recovers)
	}
	ackedBy(t, source, "recovered")

	// Elected cleanly, with an older high watermark, as Kafka's followers have.
	state := source.State()
	source.Elect(state.End, state.HW-1)
	next := ackedBy(t, source, "by the next leader")
	now = destination.awaitTopic(t, "dr", "orders", "SYNC under the new leader", func(now described) bool {
		return asReported(now) && now.ClaimTimeMs > next.UnixMilli()
	})

	source.Refuse(perr.MirrorRegistrationPropagating) // for less than the demotion takes
	destination.awaitTopic(t, "dr", "orders", "not SYNC while it is refused", func(now described) bool { return now.Partial })
	source.Refuse(perr.None)
	destination.awaitTopic(t, "dr", "orders", "SYNC after that", asReported)

	last := ackedBy(t, source, "the last")
	now = destination.awaitTopic(t, "dr", "orders", "T after the last", func(now described) bool { return now.ClaimTimeMs > last.UnixMilli() })
	source.Drop()
	now = destination.awaitTopic(t, "dr", "orders", "unconfirmed", func(now described) bool { return now.Unconfirmed })
	if !strings.HasPrefix(now.State, "SYNC (as reported by the peer) until ") {
		t.Errorf("state %q", now.State)
	}
	destination.stopTopic(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	seen := destination.consume(t, "orders", 0)
	for _, value := range []string{"before the mirror", "gated", "and on", "released", "recovered", "by the next leader", "the last"} {
		if !seen.has(value) {
			t.Errorf("%q was acknowledged before T and is not here", value)
		}
	}
	destination.mustProduce(t, "orders", 0, "open")
}

// The draft's formula as it is written acknowledges whatever nobody has reported on, so after each election the
// source acknowledges without us for a while (F01, F11). T stands still until we have caught up with that: what
// was acknowledged before T is here, whenever the source ends.
func TestWhatAPlainSourceAcknowledgedBeforeTIsHere(t *testing.T) {
	t.Parallel()
	destination := start(t, process.Spec{Cluster: "dc2"})
	source := destination.plainSource(t, 20)
	source.Literally()
	destination.startSync(t, "dr", "orders")
	destination.awaitTopic(t, "dr", "orders", "SYNC by the peer's word", asReported)

	type ack struct {
		value string
		at    time.Time
	}
	ctx, stop := context.WithCancel(t.Context())
	acks := make(chan []ack, 1)
	go func() {
		var list []ack
		pace := time.NewTicker(2 * time.Millisecond) // ungated, it would fill memory
		defer pace.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			<-pace.C
			value := fmt.Sprintf("record-%06d;", i)
			if at, err := source.Produce(ctx, value); err == nil {
				list = append(list, ack{value, at})
			}
		}
		acks <- list
	}()
	for _, disturb := range []func(){
		func() { s := source.State(); source.Elect(s.End, s.HW-3) },
		func() { source.Refuse(perr.InvalidSyncRegistration) },
		func() { source.Refuse(perr.None) },
		func() { source.Drop() },
		func() {
			if err := source.Listen(); err != nil {
				t.Error(err)
			}
		},
		func() { s := source.State(); source.Elect(s.End, s.HW-1) },
		func() { destination.pause(t); destination.resume(t) },
		func() { s := source.State(); source.Elect(s.End, s.HW) },
	} {
		disturb()
		from := source.State().End
		eventually(t, "records after the disturbance", func() (string, bool) {
			end := source.State().End
			return fmt.Sprint(end), end > from+5
		})
	}
	changed := time.Now().UnixMilli()
	now := destination.awaitTopic(t, "dr", "orders", "SYNC after all that", func(now described) bool {
		return asReported(now) && now.ClaimTimeMs > changed
	})
	source.Drop()
	stop()
	list := <-acks
	now = destination.awaitTopic(t, "dr", "orders", "unconfirmed", func(now described) bool { return now.Unconfirmed })
	destination.stopTopic(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	seen := string(destination.consume(t, "orders", 0).bytes)
	covered := 0
	for _, a := range list {
		if a.at.UnixMilli() >= now.ClaimTimeMs {
			continue
		}
		if covered++; !strings.Contains(seen, a.value) {
			t.Errorf("%s was acknowledged %d ms before T and is not here", a.value, now.ClaimTimeMs-a.at.UnixMilli())
		}
	}
	t.Logf("%d acknowledged, %d of them before T, all here", len(list), covered)
	if covered == 0 || source.State().Tagged == 0 {
		t.Errorf("%d records before T; %d requests with fields of ours", covered, source.State().Tagged)
	}
}

// A source that lost what it acknowledged does not make us cut it (R11): it states nothing, so it is believed
// only above what was committed here.
func TestAPlainSourceThatLostItsTailDoesNotTakeOursWithIt(t *testing.T) {
	t.Parallel()
	destination := start(t, process.Spec{Cluster: "dc2"})
	source := destination.plainSource(t, 20)
	destination.startSync(t, "dr", "orders")
	destination.awaitTopic(t, "dr", "orders", "SYNC by the peer's word", asReported)
	for i := range 5 {
		ackedBy(t, source, fmt.Sprintf("acknowledged %d", i))
	}
	eventually(t, "committed here", func() (string, bool) {
		seen := destination.consume(t, "orders", 0)
		return fmt.Sprint(seen.hw), seen.hw == 5
	})
	source.Elect(2, 2)
	now := destination.awaitTopic(t, "dr", "orders", "DIVERGED", func(now described) bool { return now.Phase == "DIVERGED" })
	if now.EffectiveMirrorType == admin.Sync {
		t.Errorf("still claimed: %s", sight(now))
	}
	destination.stopTopic(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	if seen := destination.consume(t, "orders", 0); !seen.has("acknowledged 4") {
		t.Error("what was acknowledged was cut")
	}
}

func TestASourceOfAnOlderKafkaIsMirroredAsync(t *testing.T) {
	t.Parallel()
	destination := start(t, process.Spec{Cluster: "dc2"})
	source := destination.plainSource(t, 17)
	ackedBy(t, source, "first")
	destination.startSync(t, "dr", "orders")
	now := destination.awaitTopic(t, "dr", "orders", "told why", func(now described) bool {
		return now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, "ASYNC only")
	})
	if now.EffectiveMirrorType == admin.Sync {
		t.Errorf("claimed: %s", sight(now))
	}
	ackedBy(t, source, "second")
	eventually(t, "its data is here", func() (string, bool) {
		seen := destination.consume(t, "orders", 0)
		return fmt.Sprint(seen.hw), seen.has("second")
	})
}

func TestAMirrorThatAsksForProofTakesNoPeersWord(t *testing.T) {
	t.Parallel()
	destination := start(t, process.Spec{Cluster: "dc2"})
	source := destination.plainSource(t, 20, "lockstep.sync.min.class", "proven")
	ackedBy(t, source, "first")
	destination.startSync(t, "dr", "orders")
	destination.awaitTopic(t, "dr", "orders", "told why", func(now described) bool {
		return now.Phase == "CATCHING_UP" && now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, "lockstep.sync.min.class=proven")
	})
	ackedBy(t, source, "not held up")
	if s := source.State(); len(s.Recovers) != 0 || source.Registered("dr") {
		t.Errorf("the source was asked to gate: %+v", s)
	}
}
