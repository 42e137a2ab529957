package pair

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
	"lockstep/testkit/peer"
)

// plainDestination is registered with d and mirrors its topic, with three replicas of which two must be in sync.
func (d *datacenter) plainDestination(t *testing.T, topic string) *peer.Destination {
	t.Helper()
	p := peer.NewDestination(d.Bootstrap(), "kip", topic, 3, 2)
	d.registered(t, p, false, perr.None)
	p.Run()
	t.Cleanup(p.Stop)
	return p
}

// registered sends a Register and expects its answer.
func (d *datacenter) registered(t *testing.T, p *peer.Destination, recovery bool, want perr.Code) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code, why, err := p.Register(ctx, recovery)
	if err != nil || code != want {
		t.Fatalf("register (recovery %v): %s %q, %v; want %s", recovery, code, why, err, want)
	}
}

func (d *datacenter) awaitCommitted(t *testing.T, topic, value string) {
	t.Helper()
	eventually(t, value+" is committed", func() (string, bool) {
		seen := d.consume(t, topic, 0)
		return fmt.Sprint(seen.hw), seen.has(value)
	})
}

// One life of a destination that speaks only the draft: it gates, is slow, is too small, dies, is released, is
// told so, and returns.
func TestADestinationThatSpeaksOnlyTheKIP(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	source.createTopic(t, "orders", 1)
	d := source.plainDestination(t, "orders")
	first := source.mustProduce(t, "orders", 0, "acknowledged by both")
	if !d.Holds()["acknowledged by both"] {
		t.Fatalf("acknowledged without the destination: %+v", d.Seen())
	}

	d.Hold(1, true) // in its ISR, and behind
	a := source.produce(t, "orders", 0, acksAll(time.Second, "one follower lacks it"))
	if a.code != perr.MirrorSyncReplicationTimeout || !strings.Contains(a.text, "not yet durable on kip") {
		t.Errorf("with a follower behind: %s", a)
	}
	d.Hold(1, false)
	source.awaitCommitted(t, "orders", "one follower lacks it")

	d.SetISR(1)
	a = source.produce(t, "orders", 0, acksAll(10*time.Second, "too few there"))
	if a.code != perr.NotEnoughRemoteReplicasAfterAppend && a.code != perr.NotEnoughReplicas || !strings.Contains(a.text, "mirror kip") {
		t.Errorf("with one of two in sync: %s", a)
	}
	d.SetISR(1, 2, 3)
	eventually(t, "it is healthy again", func() (string, bool) {
		a := source.produce(t, "orders", 0, acksAll(5*time.Second, "healthy"))
		return a.String(), a.code == perr.None && a.err == nil
	})

	d.Stop()
	for version, want := range map[int16]perr.Code{11: perr.NotEnoughReplicasAfterAppend, 14: perr.MirrorSyncReplicationTimeout} {
		if a := source.produce(t, "orders", 0, send{version, -1, time.Second, "nobody there"}); a.code != want || !strings.Contains(a.text, "kip") {
			t.Errorf("Produce v%d with the destination dead: %s", version, a)
		}
	}
	if released := source.release(t, "kip"); released.Number != 1 || len(released.Topics) != 1 {
		t.Errorf("released %+v", released)
	}
	source.awaitCommitted(t, "orders", "nobody there")
	source.registered(t, d, true, perr.MirrorSyncReleasedRequiresFreshPromotion) // nobody had told it
	d.Run()
	eventually(t, "its fetches are refused", func() (string, bool) {
		s := d.Seen()
		return fmt.Sprintf("%+v", s), s.Refusal == perr.InvalidSyncRegistration
	})
	source.registered(t, d, true, perr.None)
	last := source.mustProduce(t, "orders", 0, "recovered")
	if holds := d.Holds(); !holds["recovered"] || !holds["nobody there"] {
		t.Fatalf("acknowledged without the recovered destination: %+v", d.Seen())
	}
	d.Stop()
	if a := source.produce(t, "orders", 0, acksAll(time.Second, "not yet")); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("acknowledged without it: %s", a)
	}
	d.Run()

	if err := source.Stop(patience); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{first, last} {
		said := source.explain(t, "orders", at)
		if !strings.Contains(said, "UNPROVEN") || !strings.Contains(said, "as reported by the peer") || strings.Contains(said, "every in-sync replica of cluster") {
			t.Errorf("the audit of offset %d:\n%s", at, said)
		}
	}
}

// explain is clusterctl journal dump --offset over all directories.
func (d *datacenter) explain(t *testing.T, topic string, offset int64) string {
	t.Helper()
	args := []string{"journal", "dump", "--topic", topic, "--partition", "0", "--offset", fmt.Sprint(offset)}
	dirs, err := filepath.Glob(filepath.Join(d.Spec.Dir, "*", "log"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no journals in %s: %v", d.Spec.Dir, err)
	}
	for _, dir := range dirs {
		args = append(args, "--data-dir", filepath.Dir(dir))
	}
	out, err := exec.CommandContext(t.Context(), products(t).Clusterctl, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Whatever a plain destination says, an acknowledged record is in the log of its leader: that one copy is all its
// class claims (R14). What it says wrongly may only hold acknowledgements back.
func TestADestinationThatMisbehavesLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	source.createTopic(t, "orders", 1)
	d := source.plainDestination(t, "orders")
	source.mustProduce(t, "orders", 0, "before")
	list := func(f func(p *messages.FetchRequestMirroredTopicPartition)) func(*messages.FetchRequest) {
		return func(r *messages.FetchRequest) { f(&r.MirrorReplicaInfo.Topics[0].Partitions[0]) }
	}
	entry := func(f func(p *messages.FetchRequestPartition)) func(*messages.FetchRequest) {
		return func(r *messages.FetchRequest) { f(&r.Topics[0].Partitions[0]) }
	}
	stale := 0
	for _, c := range []struct {
		what   string
		change func(*messages.FetchRequest)
		acks   bool // it may be believed
	}{
		{"an empty ISR", list(func(p *messages.FetchRequestMirroredTopicPartition) { p.ISR = nil }), false},
		{"no min ISR", list(func(p *messages.FetchRequestMirroredTopicPartition) { p.MinISR = 0 }), false},
		{"missing offsets", list(func(p *messages.FetchRequestMirroredTopicPartition) { p.ReplicaLastOffsets = p.ReplicaLastOffsets[:1] }), false},
		{"one replica named twice", list(func(p *messages.FetchRequestMirroredTopicPartition) { p.ISR = []int32{1, 1} }), false},
		{"positions it does not have", list(func(p *messages.FetchRequestMirroredTopicPartition) {
			for i := range p.ReplicaLastOffsets {
				p.ReplicaLastOffsets[i].LastFetchOffset += 1000
			}
		}), true},
		{"positions of long ago", list(func(p *messages.FetchRequestMirroredTopicPartition) {
			for i := range p.ReplicaLastOffsets {
				p.ReplicaLastOffsets[i].LastFetchOffset = 0
			}
		}), false},
		{"now these and now those", list(func(p *messages.FetchRequestMirroredTopicPartition) {
			if stale++; stale%2 == 0 {
				p.ReplicaLastOffsets[2].LastFetchOffset = 0
			}
		}), true},
		{"no epoch", entry(func(p *messages.FetchRequestPartition) { p.CurrentLeaderEpoch = -1 }), false},
		{"no last fetched epoch", entry(func(p *messages.FetchRequestPartition) { p.LastFetchedEpoch = -1 }), false},
		{"another mirror's name", func(r *messages.FetchRequest) { r.MirrorReplicaInfo.MirrorName = "other" }, false},
	} {
		d.Distort(c.change)
		// The newest list is what counts: wait until a distorted one has arrived.
		from := d.Seen().Fetches
		eventually(t, c.what+" is said", func() (string, bool) {
			s := d.Seen()
			return fmt.Sprintf("%+v", s), s.Fetches >= from+2 || s.Trouble != nil
		})
		a := source.produce(t, "orders", 0, acksAll(1500*time.Millisecond, c.what))
		switch acked := a.code == perr.None && a.err == nil; {
		case acked && d.Seen().Ends[0] <= a.base:
			t.Errorf("%s: acknowledged at %d, and its leader ends at %d", c.what, a.base, d.Seen().Ends[0])
		case acked && !c.acks:
			t.Errorf("%s: acknowledged", c.what)
		case !acked && c.acks:
			t.Errorf("%s: %s", c.what, a)
		}
		// The same Register again changes nothing.
		source.registered(t, d, false, perr.None)
	}
	d.Distort(nil)
	last := source.mustProduce(t, "orders", 0, "after")
	if ends := d.Seen().Ends; ends[0] <= last || ends[1] <= last || ends[2] <= last {
		t.Errorf("acknowledged at %d, and its replicas end at %v", last, ends)
	}
}

// An election forgets every list; the next one counts only in the new epoch, after the log was compared.
func TestAPlainDestinationFollowsANewSourceLeader(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	source.createTopic(t, "orders", 1)
	d := source.plainDestination(t, "orders")
	source.mustProduce(t, "orders", 0, "in the first epoch")
	before := d.Seen().Epoch
	leader := source.partition(t, "orders", 0).leader
	source.stopBroker(t, leader)
	eventually(t, "another leader", func() (string, bool) {
		now := source.partition(t, "orders", 0)
		return fmt.Sprintf("%+v", now), now.leader != leader
	})
	last := source.mustProduce(t, "orders", 0, "in the second")
	s := d.Seen()
	if s.Epoch <= before || s.Ends[0] <= last || s.Ends[2] <= last {
		t.Errorf("acknowledged at %d: %+v, in epoch %d before", last, s, before)
	}
	source.startBroker(t, leader)
	source.mustProduce(t, "orders", 0, "with all again")
}
