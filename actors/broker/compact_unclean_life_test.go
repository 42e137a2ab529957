package broker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
)

// epochOf is the epoch of the batch at an offset, by a view.
func epochOf(v partition.View, at core.Offset) core.LeaderEpoch {
	epoch := core.NoEpoch
	for _, e := range v.Epochs {
		if e.Start <= at {
			epoch = e.Epoch
		}
	}
	return epoch
}

// Any life of a compacted topic in which replicas that are not in sync may lead: what the elected one has of each key is what
// everybody has, and nobody has compacted it away for a record that was lost, or keeps what was deleted.
func TestAnyLifeWithUncleanElectionsKeepsTheTable(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 13))
			r := memoryRig(t, 3)
			id := r.compacts("t", "unclean.leader.election.enable", "true", "min.insync.replicas", "1").ID()
			var all []written
			epochs := map[core.Offset]map[core.LeaderEpoch]written{}
			who, down, number := &author{id: -1}, map[core.ReplicaID]bool{}, 0
			check := func(replica *Replica) bool {
				v := replica.View()
				var there []written
				for at, of := range epochs {
					if w, ok := of[epochOf(v, at)]; ok {
						there = append(there, w)
					}
				}
				got, below := r.committed(replica, v)
				if want := tableOf(t, there, v.LogStart, below); !maps.Equal(got, want) {
					t.Errorf("broker %d shows %v below %d, want %v; of %d written\n%s", replica.broker.id, got, below, want, len(all), r.shown(replica))
				}
				return !t.Failed()
			}
			write := func(text string) {
				w := r.write(id, who, text)
				all = append(all, w)
				if epochs[w.at] == nil {
					epochs[w.at] = map[core.LeaderEpoch]written{}
				}
				epochs[w.at][epochOf(r.leader(id).View(), w.at)] = w
			}
			for range 60 {
				switch rng.IntN(8) {
				case 0, 1:
					r.look()
				case 2:
					for _, b := range r.Brokers() {
						b.compactor.inbox.Post(struct{}{})
					}
				case 3:
					if at := core.ReplicaID(1 + rng.IntN(3)); !down[at] && len(down) < 2 {
						down[at] = true
						r.change(func(reply func(any)) { r.StopBroker(at, reply) })
					}
				case 4:
					if at := core.ReplicaID(1 + rng.IntN(3)); down[at] {
						delete(down, at)
						r.change(func(reply func(any)) { r.StartBroker(at, reply) })
					}
				case 5: // one goes, another comes that has less
					for at := range down {
						if next := core.ReplicaID(1 + rng.IntN(3)); !down[next] {
							r.change(func(reply func(any)) { r.StopBroker(next, reply) })
							down[next] = true
							delete(down, at)
							r.change(func(reply func(any)) { r.StartBroker(at, reply) })
						}
						break
					}
				default:
					number++
					text := fmt.Sprint("k", rng.IntN(4))
					if rng.IntN(4) > 0 {
						text += fmt.Sprint("=", number)
					}
					write(text)
				}
				if p, _ := r.Newest().Partition(id); p.Leader != core.NoReplica && !check(r.leader(id)) {
					return
				}
			}
			for at := range down {
				r.change(func(reply func(any)) { r.StartBroker(at, reply) })
			}
			for round := range 2 {
				for _, b := range r.Brokers() {
					r.eventually("the replicas to agree", func() bool {
						write(fmt.Sprint("end=", round)) // HW comes to followers with the next batch
						leader := r.leader(id).View()
						replica, ok := b.Replica(id)
						return ok && replica.View().LEO == leader.LEO && replica.View().HW >= leader.LEO-1 && check(replica) || t.Failed()
					})
				}
				r.look()
			}
		})
	}
}
