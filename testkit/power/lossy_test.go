package power

import (
	"slices"
	"testing"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/journal/vfs"
)

// R12, D13: a disk that lost what it had said was synced, or another disk in its place, is LOSSY. Its siblings
// witnessed what it held, so that its short log neither leads nor counts before it is refilled.
func TestADiskThatLostSyncedBytesIsLossyUntilItIsRefilled(t *testing.T) {
	damages := []struct {
		name string
		do   func(*disk)
	}{
		{"rolled back", func(d *disk) { d.replace(d.older, nil) }},
		{"replaced by an empty one", func(d *disk) { d.replace(vfs.NewBarrier("new", &vfs.Power{}), nil) }},
	}
	for seed, damage := range damages {
		for _, where := range []string{source, destination} {
			t.Run(where+" "+damage.name, func(t *testing.T) {
				t.Parallel()
				p := newPair(t, uint64(20+seed))
				s := p.src
				if where == destination {
					s = p.dst
				}
				p.write(50)
				s.cut([]int{0, 1, 2})
				s.reopen(nil) // what the disks hold now is what the victim goes back to
				p.acksGoOn()
				p.pause()
				p.write(50)
				victim := p.random.IntN(brokers)
				p.pause()
				s.cut([]int{0, 1, 2})
				floors := p.floors()
				s.die()
				for i, d := range s.disks {
					if i == victim {
						damage.do(d)
					} else {
						d.replace(d.log, nil)
					}
				}
				p.hold(floors)
				check := s.opened
				s.opened = func(c *broker.Cluster) {
					check(c)
					id := core.ReplicaID(victim + 1)
					if !c.Newest().Brokers[id].Lossy {
						t.Errorf("broker %d came back without what it had synced and is not LOSSY", id)
					}
					for p := range ids(c) {
						if part, _ := c.Newest().Partition(p); part.Leader == id || slices.Contains(part.ISR, id) {
							t.Errorf("LOSSY broker %d is in the ISR of partition %d: %+v", id, p.Index, part)
						}
					}
				}
				s.start()
				p.write(20)
				p.pause()
				s.whole()
				p.everythingIsAt(p.src)
				p.src.cut([]int{0, 1, 2})
				p.src.die()
				p.failOver()
				p.everythingIsAt(p.dst)
			})
		}
	}
}
