package transaction

import (
	"fmt"
	"math/rand"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
	"lockstep/testkit/laws"
)

func TestLaws(t *testing.T) {
	for seed := range int64(60) {
		rng := rand.New(rand.NewSource(seed))
		now := core.Now{Mono: 1, Wall: 1}
		var steps []laws.Step[Command]
		for i := range 150 {
			ref := core.RequestID(i + 1)
			id := string('a' + rune(rng.Intn(3)))
			pid, epoch := int64(1+rng.Intn(4)), int16(rng.Intn(4))
			now.Mono += int64(rng.Intn(2000)) * ms
			var cmd Command
			switch rng.Intn(8) {
			case 0, 1:
				cmd = InitProducerID{Ref: ref, ID: id, Fresh: pid, TimeoutMs: 1000, ExpectedID: int64(rng.Intn(3) - 1), ExpectedEpoch: epoch}
			case 2, 3:
				cmd = AddPartitions{Ref: ref, ID: id, ProducerID: pid, Epoch: epoch, Partitions: []PartitionRecord{part(byte(rng.Intn(2)), int32(rng.Intn(2)))}, Verify: rng.Intn(3) == 0}
			case 4:
				cmd = EndTxn{Ref: ref, ID: id, ProducerID: pid, Epoch: epoch, Commit: rng.Intn(2) == 0, Bump: rng.Intn(2) == 0, Fresh: 9}
			case 5, 6:
				cmd = MarkerAnswered{ID: id, ProducerID: pid, Epoch: epoch, Outcome: MarkerOutcome(rng.Intn(3)),
					Target: Target{Partition: core.PartitionID{Topic: core.TopicID{byte(rng.Intn(2))}, Index: int32(rng.Intn(2))}}}
			default:
				cmd = []Command{Tick{}, ListTransactions{Ref: ref, LongerMs: -1}, DescribeTransaction{Ref: ref, ID: id},
					AbortOpen{Topic: core.TopicID{1}, Producers: []int64{pid}}, Resume{Settings: DefaultSettings()}}[rng.Intn(5)]
			}
			steps = append(steps, laws.Step[Command]{Now: now, Cmd: cmd})
		}
		laws.Check(t, Machine(), "", steps)
	}
}

// A long life of several producers with lost markers, crashes and retries: a client that was told of a commit was told
// the truth, and every transaction ends the same way wherever it wrote.
func TestARandomLifeEndsEveryTransaction(t *testing.T) {
	for seed := range int64(80) {
		rng := rand.New(rand.NewSource(seed))
		w := newWorld(t)
		stands := map[string]bool{} // "pid/epoch/place" → commit
		bump := seed%2 == 0
		for round := range 30 {
			id := string('a' + rune(rng.Intn(3)))
			p := w.init(id)
			for range rng.Intn(4) {
				if code := w.add(p, part(byte(rng.Intn(2)), int32(rng.Intn(3)))); code != 0 {
					t.Fatalf("seed %d: %v", seed, code)
				}
			}
			places := w.s.txns[id].Partitions
			commit := rng.Intn(2) == 0
			end := w.end(p, commit, bump)
			for range 200 {
				if c := w.code(end); c != unanswered && c != perr.ConcurrentTransactions {
					break
				}
				switch {
				case w.code(end) == perr.ConcurrentTransactions: // as clients do
					end = w.end(p, commit, bump)
				case len(w.markers) == 0:
					w.wait(500)
				case rng.Intn(10) == 0:
					w.restart()
					end = w.end(p, commit, bump)
				default:
					i := rng.Intn(len(w.markers))
					e := w.markers[i].(WriteMarker)
					w.markers = append(w.markers[:i:i], w.markers[i+1:]...)
					at := fmt.Sprint(e.ProducerID, "/", e.Epoch, "/", round, e.Partition)
					if was, stood := stands[at]; stood && was != e.Commit {
						t.Fatalf("seed %d: %s ended both ways", seed, at)
					}
					o := []MarkerOutcome{MarkerCommitted, MarkerCommitted, MarkerAgain}[rng.Intn(3)]
					if o == MarkerCommitted || rng.Intn(2) == 0 {
						stands[at] = e.Commit // appended, though the answer may say otherwise
					}
					w.do(answerTo(e, o))
				}
			}
			code := w.code(end)
			if len(places) > 0 && code != 0 {
				t.Fatalf("seed %d: %v", seed, code)
			}
			for _, place := range places {
				marked := int16(0)
				if bump {
					marked = 1
				}
				at := fmt.Sprint(p.pid, "/", p.epoch+marked, "/", round, core.PartitionID{Topic: place.Topic, Index: place.Partition})
				if was, stood := stands[at]; !stood || was != commit {
					t.Fatalf("seed %d: told commit %v, %s: %v %v", seed, commit, at, stood, was)
				}
			}
		}
	}
}
