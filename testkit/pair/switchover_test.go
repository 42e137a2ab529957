package pair

import (
	"context"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

// sendOn lets a source send clients on to where their topic has moved.
var sendOn = []string{"--set", "lockstep.superseded.rebootstrap=true"}

// I47: the planned move under load. Whatever the source acknowledged, acks=1 included, is at the destination, and the
// records of an idempotent producer that goes on there are there once.
func TestASwitchoverUnderLoadLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Args: sendOn})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 3)
	destination.createMirror(t, "dr", source)
	load := source.produceUnderLoad(t, "orders", moving(destination))
	load.awaitMore(t, 1)
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	loadOne := source.produceUnderLoad(t, "orders", append(weak, moving(destination))...)
	loadOne.awaitMore(t, 500)
	load.awaitMore(t, 500)

	began := time.Now()
	destination.switchOver(t, "dr", "orders")
	now := destination.awaitStopped(t, "dr", "orders")
	if now.Verb != "switchover" || now.Era != 1 {
		t.Errorf("ended by %q in era %d: %s", now.Verb, now.Era, sight(now))
	}
	for _, p := range now.Partitions {
		if p.SourceEnd != p.DestinationOffset {
			t.Errorf("partition %d ends at %d here, at the source at %d", p.PartitionIndex, p.DestinationOffset, p.SourceEnd)
		}
	}
	paused := time.Since(began)
	await(t, "the idempotent client writes to the destination", load.NextNew())
	await(t, "the acks=1 client writes to the destination", loadOne.NextNew())
	t.Logf("writable after %s, both clients there after %s", paused.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	load.awaitMore(t, 300)
	for name, l := range map[string]interface{ Failed() (int, error) }{"idempotent": load, "acks=1": loadOne} {
		if n, err := l.Failed(); n != 0 {
			t.Errorf("the %s client gave %d records up: %v", name, n, err)
		}
	}
	load.drain(t)
	loadOne.drain(t)
	load.compare(t, destination)
	loadOne.CheckLost(t, destination.Datacenter)
	source.awaitStanding(t, "orders", "SUPERSEDED")
}

// C8: after the commit point the source refuses producers and a release, remembers that over a restart, and takes the
// writes back by force alone.
func TestASourceThatHandedOverKeepsToIt(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2", Brokers: 1}, 1)
	source.mustProduce(t, "orders", 0, "before")
	destination.switchOver(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	destination.mustProduce(t, "orders", 0, "after")

	was := source.awaitStanding(t, "orders", "SUPERSEDED")
	if was.SuccessorCluster != "dc2" || was.SuccessorEra != 1 || !was.Planned {
		t.Errorf("the source says %+v", was)
	}
	for _, acks := range []int16{-1, 1} {
		if a := source.produce(t, "orders", 0, send{14, acks, time.Second, "late"}); a.code != perr.NotLeaderOrFollower || !strings.Contains(a.text, "dc2") {
			t.Errorf("acks=%d at the source after the move: %s", acks, a)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	released, err := source.admin.ReleaseSync(ctx, "dr", []string{"orders"}, false)
	if err != nil || len(released.Topics) != 1 || released.Topics[0].Err == nil || !strings.Contains(released.Topics[0].Err.Error(), "--force") {
		t.Errorf("a release after the move: %+v, %v", released, err)
	}

	// The source remembers over a restart, and takes the writes back only by force.
	source.Kill()
	source.restart(t)
	if a := source.produce(t, "orders", 0, send{14, 1, time.Second, "late"}); a.code != perr.NotLeaderOrFollower {
		t.Errorf("after a restart: %s", a)
	}
	forced, err := source.admin.Release(ctx, "dr", []string{"orders"}, admin.ReleaseOptions{Force: true})
	if err != nil || forced.Topics[0].Err != nil {
		t.Fatalf("a forced release: %+v, %v", forced, err)
	}
	source.mustProduce(t, "orders", 0, "by force")
	if now := source.awaitStanding(t, "orders", "PRIMARY"); now.Era != 2 {
		t.Errorf("after a forced release the source says %+v", now)
	}
}

// C8: a destination that does not follow ends the switchover at the source's time-out, with the topic as it was.
func TestASwitchoverThatCannotEndIsGivenUpAtTheSource(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Args: []string{"--set", "lockstep.switchover.timeout.ms=8000"}})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 1)
	destination.createMirror(t, "dr", source)

	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	startAsync := func() {
		results, err := destination.admin.StartTopics(ctx, "dr", []string{"orders"}, nil, admin.Async)
		if err != nil || len(results) != 1 || results[0].Err != nil {
			t.Fatalf("start orders: %+v, %v", results, err)
		}
	}
	startAsync()
	if r := destination.take(t, destination.admin.SwitchTopics, "dr", "orders"); r.Err == nil || !strings.Contains(r.Err.Error(), "not SYNC") {
		t.Errorf("a switchover of an ASYNC topic: %v", r.Err)
	}
	destination.alter(t, "dr", "orders", admin.Sync)
	destination.awaitSync(t, "dr", "orders")
	source.mustProduce(t, "orders", 0, "before")

	// Two of the destination's brokers stop, so that its ISR falls below what the registration pinned and no floor
	// moves; one record waits for it, and so does the fence.
	destination.stopBroker(t, 2)
	destination.stopBroker(t, 3)
	waiting := source.producing(t, "orders", 0, send{14, 1, time.Second, "only here"})
	if a := await(t, "acks=1 is answered", waiting); a.code != perr.None {
		t.Fatalf("acks=1: %s", a)
	}
	destination.switchOver(t, "dr", "orders")
	fenced := source.awaitStanding(t, "orders", "FENCED")
	if a := source.produce(t, "orders", 0, send{14, 1, time.Second, "refused"}); a.code != perr.NotLeaderOrFollower {
		t.Errorf("acks=1 while the source is fenced: %s", a)
	}
	now := destination.awaitTopic(t, "dr", "orders", "not being switched over any more", func(now described) bool { return !now.SwitchingOver })
	if now.Phase == "STOPPED" || now.ErrorMessage == nil || !strings.Contains(*now.ErrorMessage, "timed out") {
		t.Errorf("after the time-out: %s (the fence said %q)", sight(now), fenced.Text)
	}
	if a := source.produce(t, "orders", 0, send{14, 1, time.Second, "again"}); a.code != perr.None {
		t.Errorf("the source does not go on: %s", a)
	}
	destination.startBroker(t, 2)
	destination.startBroker(t, 3)
	destination.awaitSync(t, "dr", "orders")
	destination.switchOver(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	last := destination.consume(t, "orders", 0)
	if !last.has("only here") || !last.has("again") || last.has("refused") {
		t.Errorf("the destination has: only here %v, again %v, refused %v", last.has("only here"), last.has("again"), last.has("refused"))
	}
}

// The commit point and every step after it survive the loss of either process.
func TestASwitchoverGoesOnOverRestarts(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(t *testing.T, source, destination *datacenter){
		"destination after the commit": func(t *testing.T, source, destination *datacenter) {
			source.awaitStanding(t, "orders", "SUPERSEDED")
			destination.Kill()
			destination.restart(t)
		},
		"source after the command": func(t *testing.T, source, _ *datacenter) {
			eventually(t, "the source is fenced or further", func() (string, bool) {
				s := source.asSource(t, "orders").Standing
				return s, s != "PRIMARY"
			})
			source.Kill()
			source.restart(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := start(t, process.Spec{Cluster: "dc1", Args: sendOn})
			destination := start(t, process.Spec{Cluster: "dc2"})
			source.createTopic(t, "orders", 2)
			destination.createMirror(t, "dr", source)
			load := source.produceUnderLoad(t, "orders", moving(destination))
			destination.startSync(t, "dr", "orders")
			destination.awaitSync(t, "dr", "orders")
			load.awaitMore(t, 500)
			destination.switchOver(t, "dr", "orders")
			crash(t, source, destination)
			destination.awaitStopped(t, "dr", "orders")
			await(t, "the client writes to the destination", load.NextNew())
			load.drain(t)
			load.compare(t, destination)
			source.awaitStanding(t, "orders", "SUPERSEDED")
		})
	}
}
