package partition

import (
	"math/rand"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
	"lockstep/testkit/laws"
)

func TestLaws(t *testing.T) {
	for seed := range int64(60) {
		laws.Check(t, Machine(), "partition/t/0/broker-1", script(rand.New(rand.NewSource(seed)), 150))
	}
}

// script is a plausible life with nonsense mixed in. It follows the machine's end to hit it often.
func script(rng *rand.Rand, n int) []laws.Step[Command] {
	now := core.Now{Mono: int64(time.Hour), Wall: 1}
	s := New("partition/t/0/broker-1")
	e := core.LeaderEpoch(100)
	replicas := []core.ReplicaID{1, 2}
	var steps []laws.Step[Command]
	for i := range n {
		now.Mono += int64(rng.Intn(300)) * int64(time.Millisecond)
		ref := core.RequestID(i + 1)
		var cmd Command
		switch rng.Intn(20) {
		case 0:
			e += core.LeaderEpoch(rng.Intn(2))
			cmd = Lead{Epoch: e, Role: Role(rng.Intn(3)), Mirror: "dr", Session: core.MirrorSession(rng.Intn(3)), Replicas: replicas}
		case 1:
			e += core.LeaderEpoch(rng.Intn(2))
			cmd = Follow{Epoch: e, Leader: core.ReplicaID(rng.Intn(3))}
		case 2, 3, 4, 5:
			cmd = AppendBatch{Ref: ref, Batch: client(int64(rng.Intn(2)), 0, int32(rng.Intn(4)), 1+rng.Intn(2)), Acks: int16(rng.Intn(3) - 1)}
			if txn := rng.Intn(3); txn == 0 {
				one := transactional(int64(6+rng.Intn(2)), 0, int32(rng.Intn(3)))
				cmd = AppendBatch{Ref: ref, Batch: one, Acks: -1, InTxn: rng.Intn(2) == 0}
			} else if txn == 1 {
				cmd = []Command{DescribeProducers{Ref: ref},
					WriteMarker{Ref: ref, Epoch: e, ProducerID: int64(6 + rng.Intn(2)), ProducerEpoch: int16(rng.Intn(2)), Commit: rng.Intn(2) == 0}}[min(1, rng.Intn(4))]
			}
		case 6, 7:
			cmd = AppendMirrored{Ref: ref, Session: s.session, SourceEpoch: s.adopted, SourceHW: s.leo, SourceLogStart: start(rng, s),
				Batches: []batch.Batch{client(3, 0, int32(i), 1).Stamped(int64(s.leo), int32(max(s.adopted, 0)))}}
		case 8, 9:
			cmd = AdoptSource{Ref: ref, Session: s.session, SourceEpoch: core.LeaderEpoch(rng.Intn(9)), EndEpoch: core.LeaderEpoch(rng.Intn(9) - 1),
				EndOffset: core.Offset(rng.Intn(int(s.leo) + 1)), LastUnclean: core.NoEpoch, Stated: rng.Intn(2) == 0, FollowUnclean: rng.Intn(2) == 0}
		case 10:
			cmd = Quarantined{Session: s.session, From: s.adopting.to, To: s.leo}
		case 11:
			cmd = []Command{FenceMirror{Ref: ref, Session: s.session}, WritePidReset{Ref: ref, Keep: KeepProducers(rng.Intn(2))}}[rng.Intn(2)]
		case 12:
			cmd = JoinLeader{From: 2, Epoch: e, LastEpoch: core.LeaderEpoch(rng.Intn(110)), LEO: core.Offset(rng.Intn(int(s.leo) + 2))}
		case 13:
			cmd = AlignTo{From: 2, Epoch: e, EndEpoch: s.lastEpoch(), EndOffset: core.Offset(rng.Intn(int(s.leo) + 2))}
		case 14:
			cmd = Aligned{From: 2, Epoch: e, Term: 1, LastEpoch: s.lastEpoch(), LEO: s.leo, Tail: s.leo + core.Offset(rng.Intn(2)), Adopted: 3,
				HW: s.leo, LogStart: start(rng, s)}
		case 15:
			cmd = Replicate{From: 2, Epoch: e, Term: s.term, HW: s.leo, Adopted: 4, SourceHW: s.leo, LogStart: start(rng, s), Forgotten: start(rng, s),
				Batches: []batch.Batch{client(5, 0, int32(i), 1).Stamped(int64(s.leo)+int64(rng.Intn(2)), int32(e))}}
		case 16:
			cmd = Advanced{Epoch: e, HW: core.Offset(rng.Intn(int(s.leo) + 1)), Confirmed: []core.RequestID{ref - 1, ref - 2, ref - 3}}
		case 17:
			cmd = []Command{Refused{Epoch: e, Refs: []core.RequestID{ref - 1}, Code: perr.RequestTimedOut},
				AdmissionChanged{Epoch: e, Gated: rng.Intn(2) == 0, R: s.leo, H: core.Unknown},
				ReplicaReported{Replica: 2, Epoch: e, Term: s.term, LEO: s.leo}}[rng.Intn(3)]
		case 18:
			cmd = ParkFetch{Ref: ref, Until: Position(rng.Intn(3)), Beyond: s.leo}
		default:
			cmd = []Command{Tick{}, DeleteRecords{Ref: ref, Before: start(rng, s)}, ExpireRecords{Epoch: e, Before: start(rng, s)}, ForgetProducers{Epoch: e, Before: start(rng, s)}}[rng.Intn(4)]
		}
		steps = append(steps, laws.Step[Command]{Now: now, Cmd: cmd})
		for _, ev := range Decide(s, now, cmd).Events {
			Apply(s, ev)
		}
	}
	return steps
}

// start is a log start that somebody states: mostly one that may be true.
func start(rng *rand.Rand, s *State) core.Offset {
	return s.logStart + core.Offset(rng.Intn(int(s.leo-s.logStart)+3)-1)
}
