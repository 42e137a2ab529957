package mirror

import (
	"testing"

	"lockstep/protocol/perr"
)

// Partitions that the source adds are made here, mirrored and armed; until they are, the topic is not SYNC and T does
// not move, and a restart in between goes on (C2, C4, C11).
func TestPartitionsAddedAtTheSourceAreMirrored(t *testing.T) {
	d := synced(t)
	before := d.describe().T
	d.do(ReportPartitions{Topic: topicA, Count: partitions + 1})
	if g := last[GrowLocalTopic](t, d.effects); g.Count != partitions+1 {
		t.Fatalf("asked for %d partitions", g.Count)
	}
	if f := last[FetchTopic](t, d.effects); f.Partitions != partitions+1 || f.Mode != FetchSync {
		t.Fatalf("fetched: %+v", f)
	}
	d.phase(Arming)
	if n := len(all[GrowLocalTopic](d.tick(driveNs + tickNs))); n != 1 {
		t.Fatalf("without an answer, asked %d times in a second", n)
	}
	if n := len(all[GrowLocalTopic](d.restart())); n != 1 {
		t.Fatalf("after a restart, asked %d times", n)
	}
	for _, code := range []perr.Code{perr.CoordinatorNotAvailable, perr.InvalidReplicaAssignment} { // the latter: every broker is down
		d.do(LocalTopicGrown{Topic: topicA, Count: partitions + 1, Code: code})
		if d.phase(Arming); !d.topic().Growing {
			t.Fatalf("%s ends the growth", code)
		}
	}
	d.do(LocalTopicGrown{Topic: topicA, Count: partitions + 1})
	if n := len(all[GrowLocalTopic](d.tick(3 * driveNs))); n != 0 {
		t.Fatal("asked again for what is there")
	}
	for p := int32(0); p < partitions; p++ {
		d.evidence(p, 1, 10, 10)
	}
	d.tick(2 * claimEveryNs)
	d.phase(Arming)
	if now := d.describe().T; now != before {
		t.Fatalf("T moved to %v without the new partition", now)
	}
	d.evidence(partitions, 1, 0, 0)
	d.phase(Sync)
	if now := d.describe(); now.T.Clock <= before.Clock || len(now.Partitions) != partitions+1 {
		t.Fatalf("T %v, %d partitions", now.T, len(now.Partitions))
	}
	if d.do(ReportPartitions{Topic: topicA, Count: partitions}); len(d.effects) != 0 {
		t.Fatalf("an older count has effects %v", d.effects)
	}
	d.s = d.replay()
}

// A topic that had more partitions at the source when it was registered than its metadata had shown here is not SYNC
// before they are armed: what was acknowledged in them is not here, and T would speak for it (C4, C11).
func TestATopicIsNotClaimedWithPartitionsThatAreUnknownHere(t *testing.T) {
	d := registering(t)
	d.admit(1)
	for p := int32(0); p < partitions; p++ {
		d.do(ReportEvidence{ID: id(p), Epoch: 1, SourceEpoch: 3, GateStart: 10, Floor: 10, Sent: d.now.Mono, T: ClaimTime{Clock: d.now.Wall}, Partitions: partitions + 1})
	}
	d.phase(Arming)
	if n := len(d.describe().Partitions); n != partitions+1 {
		t.Fatalf("%d partitions are mirrored", n)
	}
	d.do(LocalTopicGrown{Topic: topicA, Count: partitions + 1})
	d.evidence(partitions, 1, 0, 0)
	d.phase(Sync)
	d.s = d.replay()
}

func TestEvidenceOfAnUnknownPartitionAsksTheSource(t *testing.T) {
	d := synced(t)
	d.do(ReportUnknownPartition{ID: id(partitions)})
	if !has(d.effects) {
		t.Fatal("the source is not asked")
	}
	if d.do(ReportUnknownPartition{ID: id(0)}); has(d.effects) {
		t.Fatal("asked because of a partition that is mirrored")
	}
}

func has(effects []Effect) bool { return len(all[RefreshSource](effects)) > 0 }
