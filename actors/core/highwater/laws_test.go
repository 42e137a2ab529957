package highwater

import (
	"math/rand"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/testkit/laws"
)

func TestLaws(t *testing.T) {
	for seed := range int64(40) {
		laws.Check(t, Machine(), "ledger/t/0", script(rand.New(rand.NewSource(seed)), 120))
	}
}

// script is a plausible life with nonsense mixed in.
func script(rng *rand.Rand, n int) []laws.Step[Command] {
	now := core.Now{Mono: int64(time.Hour), Wall: 1}
	e, leo, ref := core.LeaderEpoch(1), core.Offset(0), core.RequestID(0)
	replicas := []core.ReplicaID{1, 2, 3}
	var steps []laws.Step[Command]
	for i := range n {
		now.Mono += int64(rng.Intn(900)) * int64(time.Millisecond)
		var cmd Command
		switch rng.Intn(15) {
		case 0:
			e += core.LeaderEpoch(rng.Intn(2))
			cmd = LeaderStarted{Epoch: e, EpochStart: leo, LEO: leo, HW: leo / 2, Self: 1, Replicas: replicas, Mode: Mode(rng.Intn(3))}
		case 1, 2:
			cmd = AppliedImage{Epoch: e, PartitionEpoch: int32(i), ISR: replicas[:1+rng.Intn(3)], MinISR: 1, Version: int64(i + 1),
				Mode: Mode(rng.Intn(3)), Gates: []Gate{gateOf(mirrorA), plainGate}[:rng.Intn(3)], MirrorOf: MirrorOf{Reporting: true, PinnedISR: 1}}
		case 3, 4, 5:
			leo += core.Offset(rng.Intn(3))
			cmd = ReportReplica{Replica: replicas[rng.Intn(3)], Epoch: e, Term: core.MirrorTerm(rng.Intn(2)), LEO: leo}
		case 6:
			cmd = SourceAdopted{Term: core.MirrorTerm(rng.Intn(3)), SourceEpoch: 3, LEO: leo, Truncated: rng.Intn(2) == 0}
		case 7:
			cmd = TrackSourceHW{SourceEpoch: 3, HW: leo, Waits: rng.Intn(2) == 0}
		case 8, 9:
			ref++
			cmd = AwaitCommit{Ref: ref, Epoch: e, Offset: core.Offset(rng.Intn(int(leo) + 2)), Bytes: 10, Deadline: now.Mono + int64(time.Second)}
		case 10:
			r := healthy(mirrorA, leo)
			r.SourceEpoch, r.ISRSize, r.Seq = e, int32(rng.Intn(3)), int64(i)
			cmd = r
		case 11:
			cmd = WeakAcked{Epoch: e, From: leo, To: leo + 1, Acks: 1, Client: "c"}
		case 12:
			cmd = []Command{StampDurable{Number: int64(rng.Intn(5))}, ISRRefused{PartitionEpoch: int32(i)}, StepDown{Epoch: e}}[rng.Intn(3)]
		case 13:
			r := listed(leo, leo, leo/2)
			r.SourceEpoch, r.MinISR, r.Agrees = e, int32(rng.Intn(4)), rng.Intn(4) > 0
			cmd = r
		default:
			cmd = Tick{}
		}
		steps = append(steps, laws.Step[Command]{Now: now, Cmd: cmd})
	}
	return steps
}
