package highwater

import (
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// plainMirror is registered by a peer that names no cluster and numbers nothing.
var (
	plainMirror = core.MirrorKey{Mirror: "p"}
	plainGate   = Gate{Key: plainMirror, Epoch: 4, MinISR: -1, Plain: true}
)

// listed is a good list: a replica for each position, all of them in the ISR, fetched from offset on.
func listed(offset core.Offset, leos ...core.Offset) ReportReplicas {
	r := ReportReplicas{Key: plainMirror, Epoch: 4, SourceEpoch: epoch, LastFetched: 1, Agrees: true, FetchOffset: offset, MinISR: 1}
	for i, leo := range leos {
		r.Replicas = append(r.Replicas, ReplicaLEO{Replica: core.ReplicaID(i + 1), LEO: leo})
		r.ISR = append(r.ISR, core.ReplicaID(i+1))
	}
	return r
}

func (b *bench) wantFloor(want core.Offset) {
	b.t.Helper()
	if g := Describe(b.s).Gates.Gates; len(g) != 1 || g[0].Floor != want {
		b.t.Fatalf("gates %+v, want one at %d", g, want)
	}
}

func TestAPlainMirrorCommitsTheLowestOfItsList(t *testing.T) { // R14
	b := source(t, 100, plainGate).await(1, 90).wantHW(0)
	b.do(listed(100, 95, 97, 96)).wantHW(95)
	if !b.confirmed()[1] {
		t.Fatal("not acknowledged although every listed replica has it")
	}
}

// The draft's worked example, in exclusive offsets: committed is what lies below 88, so up to record 87 (R1, F02).
func TestTheDraftsExampleCommitsRecord87(t *testing.T) {
	other := Gate{Key: core.MirrorKey{Mirror: "q"}, Epoch: 5, Plain: true}
	b := newBench(t)
	b.do(LeaderStarted{Epoch: epoch, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
	b.image(func(img *AppliedImage) { img.Gates = []Gate{plainGate, other} })
	b.report(1, 100).report(2, 100).report(3, 99).await(87, 88).await(88, 89)
	a, q := listed(97, 95, 97, 96), listed(90, 90, 88)
	q.Key, q.Epoch = other.Key, other.Epoch
	b.do(a).wantHW(0)
	b.do(q).wantHW(88)
	if done := b.confirmed(); !done[87] || done[88] {
		t.Fatalf("confirmed %v, want record 87 and not 88", done)
	}
}

func TestAListThatVouchesForNothing(t *testing.T) { // R14, F01
	cases := map[string]func(*ReportReplicas){
		"no last fetched epoch": func(r *ReportReplicas) { r.LastFetched = core.NoEpoch },
		"a diverging log":       func(r *ReportReplicas) { r.Agrees = false },
		"an empty ISR":          func(r *ReportReplicas) { r.ISR = nil },
		"a missing offset":      func(r *ReportReplicas) { r.Replicas = r.Replicas[:1] },
		"no min ISR":            func(r *ReportReplicas) { r.MinISR = 0 },
		"a negative offset":     func(r *ReportReplicas) { r.Replicas[1].LEO = -1 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			b := source(t, 10, plainGate).do(listed(8, 8, 8)).wantHW(8)
			r := listed(10, 10, 10)
			change(&r)
			b.do(r).wantHW(8).wantFloor(core.Unknown)
			b.after(2*time.Second).await(1, 9).wantHW(8)
			b.do(listed(9, 9, 9)).wantHW(9)
		})
	}
}

// Nothing of these lists is taken: what was said before them stands.
func TestAListThatIsNotOfThisGate(t *testing.T) { // R14, R3
	cases := map[string]func(*ReportReplicas){
		"an older epoch":       func(r *ReportReplicas) { r.SourceEpoch = epoch - 1 },
		"a future epoch":       func(r *ReportReplicas) { r.SourceEpoch = epoch + 1 },
		"no epoch":             func(r *ReportReplicas) { r.SourceEpoch = core.NoEpoch },
		"another registration": func(r *ReportReplicas) { r.Epoch = 3 },
		"another mirror":       func(r *ReportReplicas) { r.Key.Mirror = "q" },
		"a cluster that numbers its commands": func(r *ReportReplicas) {
			r.Key, r.Epoch = mirrorA, 1
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			b := source(t, 10, plainGate).do(listed(8, 8)).wantHW(8)
			r := listed(10, 10)
			change(&r)
			b.do(r).wantHW(8).wantFloor(8)
		})
	}
	b := source(t, 10, gateOf(mirrorA)) // a mirror that states floors is not believed by a list
	r := listed(10, 10)
	r.Key, r.Epoch = mirrorA, 1
	b.do(r).wantHW(0)
}

func TestAFollowerIsNotBelievedBeyondItsLeader(t *testing.T) { // R14
	b := source(t, 100, plainGate)
	b.do(listed(60, 90, 95)).wantHW(60)
	b.do(listed(1000, 1000, 2000)).wantHW(100).wantFloor(100) // and nobody beyond our own end
}

// A list is no fact: a follower that joined by Kafka's rule may have less than was reported before it (F06).
func TestTheNewestListReplacesTheOlder(t *testing.T) { // R14
	b := source(t, 10, plainGate).do(listed(10, 10)).wantHW(10)
	b.do(listed(10, 10, 7)).wantFloor(7)
	b.report(1, 20).report(2, 20).report(3, 20).await(1, 12).wantHW(10)
	b.do(listed(15, 15, 7)).wantHW(10)
	b.do(listed(15, 15, 13)).wantHW(13)
}

func TestAPlainMirrorUnderItsMinISRCommitsNothing(t *testing.T) { // R14, R9
	b := source(t, 10, plainGate).do(listed(5, 5, 5)).wantHW(5).await(1, 8)
	for name, r := range map[string]ReportReplicas{"one of two": listed(10, 10), "one, named twice": listed(10, 10)} {
		if r.MinISR = 2; name != "one of two" {
			r.ISR = []core.ReplicaID{1, 1}
		}
		b.do(r).wantHW(5)
	}
	b.after(1100 * time.Millisecond)
	refused, ok := in[Refuse](b)
	if !ok || refused.Code != perr.NotEnoughRemoteReplicasAfterAppend || !strings.Contains(refused.Text, "mirror p") || !strings.Contains(refused.Text, "1 in-sync replicas and needs 2") {
		t.Fatalf("refusal %+v (%v)", refused, ok)
	}
	healthyAgain := listed(10, 10, 10)
	healthyAgain.MinISR = 2
	b.do(healthyAgain).wantHW(10)
}

func TestAPlainMirrorTakesNoFloors(t *testing.T) { // R14
	b := source(t, 10, plainGate).do(listed(4, 4)).wantHW(4)
	forged := healthy(plainMirror, 10)
	forged.Epoch, forged.Incarnation = 4, plainGate.Incarnation
	b.do(forged).wantHW(4).wantFloor(4)
}

func TestTheLedgerSaysWhoseWordAnAckRestsOn(t *testing.T) { // R14, D3
	b := source(t, 10, plainGate, gateOf(mirrorA)).floor(mirrorA, 10)
	classes := func(gates []LedgerGate) map[core.MirrorName]int8 {
		m := map[core.MirrorName]int8{}
		for _, g := range gates {
			m[g.Mirror] = g.Class
		}
		return m
	}
	want := map[core.MirrorName]int8{"p": classReported, "a": classProven}
	b.do(listed(10, 10))
	for _, ev := range b.events {
		if moved, ok := ev.(HighWatermarkAdvanced); ok {
			if got := classes(moved.Gates); got["p"] != want["p"] || got["a"] != want["a"] || len(got) != 2 {
				t.Fatalf("classes %v, want %v", got, want)
			}
			return
		}
	}
	t.Fatalf("HW did not move: %+v", b.events)
}

// Unknown again, as for every mirror, with each leader epoch and registration (R2).
func TestAListIsForgottenWithTheEpochAndTheRegistration(t *testing.T) {
	b := source(t, 10, plainGate).do(listed(10, 10)).wantHW(10)
	b.report(1, 20).report(2, 20).report(3, 20)
	b.do(listed(15, 15)).wantHW(15)
	b.image(func(img *AppliedImage) { img.Gates = []Gate{{Key: plainMirror, Epoch: 6, Plain: true}} })
	b.wantFloor(core.Unknown)
	b.do(LeaderStarted{Epoch: epoch + 1, EpochStart: 20, LEO: 20, HW: 15, Self: self, Replicas: []core.ReplicaID{1, 2, 3}})
	b.image(func(img *AppliedImage) { img.Gates = []Gate{{Key: plainMirror, Epoch: 6, Plain: true}} })
	r := listed(20, 20)
	r.Epoch = 6
	b.do(r).wantHW(15) // of the epoch before
	r.SourceEpoch = epoch + 1
	b.report(1, 20).report(2, 20).report(3, 20).do(r).wantHW(20)
}
