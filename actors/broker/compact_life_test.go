package broker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"lockstep/actors/core"
)

// Any life of a compacted topic: whatever is written, whoever stops and comes back, wherever a pass or the process ends, every
// replica that is in sync has the newest value of each key, and none that was deleted.
func TestAnyLifeKeepsTheTable(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 9))
			r := memoryRig(t, 3)
			id := r.compacts("t").ID()
			want, down, written := map[string]string{}, core.NoReplica, 0
			table := func(replica *Replica) map[string]string {
				got := map[string]string{}
				for _, line := range strings.Fields(r.shown(replica)) {
					_, text, _ := strings.Cut(line, ":")
					key, value, alive := strings.Cut(text, "=")
					if delete(got, key); alive {
						got[key] = value
					}
				}
				return got
			}
			for range 60 {
				switch rng.IntN(8) {
				case 0:
					for _, b := range r.Brokers() {
						b.compactor.inbox.Post(struct{}{})
					}
				case 1:
					r.look()
				case 2:
					if down == core.NoReplica {
						down = core.ReplicaID(1 + rng.IntN(3))
						r.change(func(reply func(any)) { r.StopBroker(down, reply) })
					} else {
						r.change(func(reply func(any)) { r.StartBroker(down, reply) })
						down = core.NoReplica
					}
				case 3:
					if down == core.NoReplica && rng.IntN(3) == 0 {
						r.crash()
					}
				default:
					for range 1 + rng.IntN(6) {
						written++
						key, text := fmt.Sprint("k", rng.IntN(5)), ""
						if text = fmt.Sprint(key, "=", written); rng.IntN(4) == 0 {
							text = key
						}
						// Told again after an election, as clients do: to write the newest value twice changes nothing.
						r.eventually("an ack", func() bool { return r.putOnce(r.leader(id), text) != nil })
						if delete(want, key); text != key {
							want[key] = fmt.Sprint(written)
						}
					}
					leader := r.leader(id)
					r.eventually("readers to see it", func() bool { v := leader.View(); return v.HW == v.LEO })
					if got := table(leader); !maps.Equal(got, want) {
						t.Fatalf("the leader has %v, want %v\n%s", got, want, r.shown(leader))
					}
				}
			}
			if down != core.NoReplica {
				r.change(func(reply func(any)) { r.StartBroker(down, reply) })
			}
			r.put(r.leader(id), "end=1") // HW comes to followers with the next batch
			want["end"] = "1"
			end := r.leader(id).View().LEO
			for _, b := range r.Brokers() {
				r.eventually("the replicas to agree", func() bool {
					replica, ok := b.Replica(id)
					return ok && replica.View().HW == end && maps.Equal(table(replica), want)
				})
			}
			r.put(r.leader(id), "end=2")
			r.eventually("all that is superfluous to go", func() bool {
				r.look()
				return len(strings.Fields(r.shown(r.leader(id)))) == len(want)+1 // the newest segment hides nothing yet
			})
		})
	}
}
