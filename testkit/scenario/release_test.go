package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
	dc "lockstep/testkit/datacenter"
	"lockstep/testkit/wire"
)

// noBus is the NATS of a source that nobody reaches: registrations travel in band, over the Kafka port, where a
// scenario can hold them.
const noBus = "nats://127.0.0.1:9"

// Source-Side Release — Concurrent Register Race: a Register that left before the release arrives after it. The source
// refuses it with 954 and does not gate again; the destination returns only with a Register that knows of the release.
func TestReleaseConcurrentRegisterRace(t *testing.T) {
	t.Parallel()
	frames := wire.NewFrames()
	p := newTwo(t, process.Spec{Brokers: 1, NATSURL: noBus}, single, 1, dc.Filters{Kafka: frames.Filter})
	p.sync(t)
	p.destination.Alter(t, "dr", "orders", admin.Async)
	p.destination.AwaitTopic(t, "dr", "orders", "ASYNC and unregistered", func(now dc.Described) bool { return now.Phase == "ASYNC" && !now.Reporting })
	sent := frames.Seen(messages.KeyRegisterMirrorSyncTopic)
	frames.Hold(messages.KeyRegisterMirrorSyncTopic)
	p.destination.Alter(t, "dr", "orders", admin.Sync)
	dc.Eventually(t, "a Register is on its way", func() (string, bool) {
		n := frames.Seen(messages.KeyRegisterMirrorSyncTopic)
		return fmt.Sprint(n), n > sent
	})
	rejected := func() float64 {
		return p.destination.Metric(t, "kafka_server_mirror_sync_registration_rejected_total", "reason", "RELEASED_FRESH_PROMOTION_REQUIRED")
	}
	before := rejected()
	p.source.Release(t, "dr")
	if n := p.source.Metric(t, "kafka_server_mirror_registered_topics", "mirror", "dr"); n != 0 {
		t.Fatalf("%v topics are registered", n)
	}
	p.source.MustProduce(t, "orders", 0, "released")
	frames.Release()
	dc.Eventually(t, "the stale Register is refused", func() (string, bool) { return fmt.Sprint(rejected()), rejected() > before })
	now := p.destination.AwaitSync(t, "dr", "orders")
	if now.ReleaseNumber == 0 {
		t.Errorf("SYNC without the release: %s", dc.Sight(now))
	}
	p.source.MustProduce(t, "orders", 0, "gated again")
	p.source.SameLogAs(t, p.destination, "orders", 1)
}

// Source-Side Release — Auto-Recovery: the destination cannot be reached, the operator releases it, it can be reached
// again and sync resumes, with nobody doing anything at the destination.
func TestReleaseAutoRecovery(t *testing.T) {
	t.Parallel()
	p := newTwo(t, single, single, 2, dc.Filters{})
	first := p.sync(t)
	p.road.Each((*wire.Wire).Close)
	if a := p.source.Produce(t, "orders", 0, dc.AcksAll(time.Second, "held")); a.Code != perr.MirrorSyncReplicationTimeout {
		t.Fatalf("with the destination cut off: %s", a)
	}
	released := p.source.Release(t, "dr")
	for i := range 20 {
		p.source.MustProduce(t, "orders", int32(i%2), "released")
	}
	p.road.Heal(t)
	now := p.destination.AwaitTopic(t, "dr", "orders", "SYNC again", func(now dc.Described) bool { return dc.InSync(now) && now.ReleaseNumber == released.Number })
	if now.RegistrationEpoch <= first.RegistrationEpoch || now.RecoveryPending {
		t.Errorf("recovered: %s", dc.Sight(now))
	}
	if n := p.source.Metric(t, "kafka_server_mirror_released_topics", "mirror", "dr"); n != 0 {
		t.Errorf("%v topics are still marked as released", n)
	}
	p.source.MustProduce(t, "orders", 0, "gated again")
	p.source.SameLogAs(t, p.destination, "orders", 2)
}

// Source-Side Release — Persistent Source Hold: as long as the source holds the release, each Register of the destination
// is refused and the wait before the next one doubles. Nothing is asked more often, nothing ends in FAILED, the data flows,
// and the end of the hold is all that it takes.
func TestReleasePersistentSourceHold(t *testing.T) {
	t.Parallel()
	frames := wire.NewFrames()
	p := newTwo(t, process.Spec{Brokers: 1, NATSURL: noBus}, single, 1, dc.Filters{Kafka: frames.Filter})
	p.sync(t)
	sent := frames.Seen(messages.KeyRegisterMirrorSyncTopic)
	ctx, cancel := context.WithTimeout(t.Context(), dc.Patience)
	defer cancel()
	if _, err := p.source.Admin.Release(ctx, "dr", nil, admin.ReleaseOptions{Hold: true}); err != nil {
		t.Fatal(err)
	}
	var asked []time.Time
	dc.Eventually(t, "four attempts", func() (string, bool) {
		for range frames.Seen(messages.KeyRegisterMirrorSyncTopic) - sent - len(asked) {
			asked = append(asked, time.Now())
		}
		return fmt.Sprint(len(asked)), len(asked) >= 4
	})
	// An attempt is seen a moment late, so that a gap may look shorter than it was by as much.
	for i, least := 1, 500*time.Millisecond; i < len(asked); i, least = i+1, 2*least {
		if gap := asked[i].Sub(asked[i-1]); gap < least*3/4 {
			t.Errorf("attempt %d came %s after the one before it, before %s had gone by", i+1, gap, least)
		}
	}
	last := p.source.MustProduce(t, "orders", 0, "acknowledged without the mirror")
	now := p.destination.AwaitTopic(t, "dr", "orders", "held, and in possession of what came since", func(now dc.Described) bool {
		return now.RecoveryPending && now.Partitions[0].DestinationOffset > last && now.ErrorMessage != nil && strings.Contains(*now.ErrorMessage, "--unhold")
	})
	if now.EffectiveMirrorType != admin.Async || now.DesiredMirrorType != admin.Sync || now.RetryAttempt < 3 {
		t.Errorf("held: %s", dc.Sight(now))
	}
	if n := p.source.Metric(t, "kafka_server_mirror_released_topics", "mirror", "dr"); n != 1 {
		t.Errorf("%v topics are marked as released", n)
	}
	if _, err := p.source.Admin.Release(ctx, "dr", nil, admin.ReleaseOptions{Unhold: true}); err != nil {
		t.Fatal(err)
	}
	p.destination.AwaitSync(t, "dr", "orders")
	p.source.MustProduce(t, "orders", 0, "gated again")
	p.source.SameLogAs(t, p.destination, "orders", 1)
}

// Auto-Demote Keeps Partition in MIRRORING: after a release the topic is ASYNC and recovering, its partitions are not
// failed, and their data flows on while the recovery is under way.
func TestAutoDemoteKeepsPartitionInMirroring(t *testing.T) {
	t.Parallel()
	frames := wire.NewFrames()
	p := newTwo(t, process.Spec{Brokers: 1, NATSURL: noBus}, single, 1, dc.Filters{Kafka: frames.Filter})
	p.sync(t)
	frames.Hold(messages.KeyRegisterMirrorSyncTopic)
	p.source.Release(t, "dr")
	now := p.destination.AwaitTopic(t, "dr", "orders", "ASYNC and recovering", func(now dc.Described) bool {
		return now.EffectiveMirrorType == admin.Async && now.DesiredMirrorType == admin.Sync && now.RecoveryPending
	})
	if s := now.Partitions[0].StateValue; s == "FAILED" || s == "DIVERGED" || s == "STOPPED" {
		t.Errorf("demoted: %s", dc.Sight(now))
	}
	last := p.source.MustProduce(t, "orders", 0, "acknowledged without the mirror")
	now = p.destination.AwaitTopic(t, "dr", "orders", "in possession of it", func(now dc.Described) bool { return now.Partitions[0].DestinationOffset > last })
	if now.EffectiveMirrorType != admin.Async {
		t.Errorf("SYNC without an answer to Register: %s", dc.Sight(now))
	}
	frames.Release()
	p.destination.AwaitSync(t, "dr", "orders")
}

// Source ULE Blocked: with unclean elections off, the last in-sync broker of the source goes. The partition has no
// leader and nobody acknowledges; the destination is opened, and has all that was.
func TestSourceULEBlocked(t *testing.T) {
	t.Parallel()
	p := newTwo(t, process.Spec{}, single, 1, dc.Filters{})
	p.sync(t)
	p.source.StopBroker(t, 3)
	last := p.source.MustProduce(t, "orders", 0, "on brokers 1 and 2 and at the destination")
	p.source.StopBroker(t, 2)
	p.source.StopBroker(t, 1)
	p.source.StartBroker(t, 3) // outside the ISR: it may not lead
	dc.Eventually(t, "no leader, and an operator sees it", func() (string, bool) {
		n := p.source.Metric(t, "kafka_controller_kafkacontroller_offlinepartitionscount")
		_, err := p.source.Metadata(t.Context(), "orders")
		return fmt.Sprint(n, err), n == 1 && err != nil
	})
	must(t, p.destination, "--stop", "--mirror", "dr", "--topics", "orders", "--wait")
	if seen := p.destination.Consume(t, "orders", 0); seen.HW <= last || !seen.Has("on brokers 1 and 2") {
		t.Errorf("record %d was acknowledged; the destination shows up to %d", last, seen.HW)
	}
	p.destination.MustProduce(t, "orders", 0, "the new primary")
}

// Source ULE Handling (sync mode): an unclean election loses records of the source. A mirror that is told to follow it
// finds the point of divergence by the epochs, cuts there and copies the new leader's log. One that is not keeps what the
// source has lost, and an operator decides.
func TestSourceULEHandling(t *testing.T) {
	t.Parallel()
	p := newTwo(t, process.Spec{}, single, 1, dc.Filters{})
	createTopic(t, p.source, "unclean", 1, map[string]string{"unclean.leader.election.enable": "true", "min.insync.replicas": "1"})
	createTopic(t, p.source, "kept", 1, map[string]string{"unclean.leader.election.enable": "true", "min.insync.replicas": "1"})
	p.destination.CreateMirror(t, "follows", p.source, "bootstrap.servers", p.road.Bootstrap())
	p.destination.StartSync(t, "follows", "unclean")
	p.destination.StartSync(t, "follows", "kept")
	p.destination.AwaitSync(t, "follows", "unclean")
	p.destination.AwaitSync(t, "follows", "kept")
	alterTopic(t, p.destination, "unclean", "mirror.support.unclean.leader.election", "true") // never copied from the source
	p.source.MustProduce(t, "unclean", 0, "everywhere")
	p.source.MustProduce(t, "kept", 0, "everywhere")
	p.source.StopBroker(t, 3)
	p.source.MustProduce(t, "unclean", 0, "not on broker 3")
	p.source.MustProduce(t, "kept", 0, "not on broker 3")
	p.source.StopBroker(t, 2)
	p.source.MustProduce(t, "unclean", 0, "not on broker 2 either")
	p.source.MustProduce(t, "kept", 0, "not on broker 2 either")
	p.source.StopBroker(t, 1)
	p.source.StartBroker(t, 3)
	p.destination.AwaitTopic(t, "follows", "unclean", "cut to where the new leader's log parts", func(now dc.Described) bool {
		return now.Partitions[0].DestinationOffset == 1
	})
	if n := p.source.Metric(t, "kafka_controller_controllerstats_uncleanleaderelections_total"); n != 2 {
		t.Errorf("%v unclean elections are counted", n)
	}
	p.destination.AwaitTopic(t, "follows", "kept", "DIVERGED: nobody allowed it to follow", func(now dc.Described) bool { return now.Phase == "DIVERGED" })
	if seen := p.destination.Consume(t, "kept", 0); seen.HW < 2 || !seen.Has("not on broker 3") {
		t.Errorf("the copy that may not be cut shows up to %d: %q", seen.HW, seen.Bytes)
	}
	p.destination.AwaitSync(t, "follows", "unclean")
	p.source.MustProduce(t, "unclean", 0, "after the election")
	p.source.SameLogAs(t, p.destination, "unclean", 1)
	if seen := p.destination.Consume(t, "unclean", 0); !seen.Has("everywhere") || seen.Has("not on broker") {
		t.Errorf("after the election the destination shows %q", seen.Bytes)
	}
}

// alterTopic sets a topic's setting as kafka-configs.sh does.
func alterTopic(t *testing.T, d *dc.Datacenter, topic, name, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), dc.Patience)
	defer cancel()
	results, err := kadm.NewClient(d.Admin.Kafka).AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, topic)
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		t.Fatalf("set %s=%s of %s: %v", name, value, topic, err)
	}
}
