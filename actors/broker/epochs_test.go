package broker

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
)

// R12: the power goes between the decision to raise a leader epoch and its durability, at every sync around it. A
// number under which a replica led, appended or was seen by a client never comes back for another instance.
func TestAnEpochThatWasActedUnderIsNeverUsedAgain(t *testing.T) {
	for _, survive := range []bool{false, true} {
		random := rand.New(rand.NewPCG(22, 1))
		d := newDisks(t, true)
		id := d.create("orders")
		acked := map[core.Offset]string{}
		raised := 0
		for n := 1; n <= 12; n++ {
			serving := d.leader(id)
			d.mustAck(serving, fmt.Sprint("before ", n))
			d.powers[0].CutAtSync(n)
			seen := core.NoEpoch
			answered := make(chan any, 8)
			for range 3 {
				d.RaiseEpoch(controller.RaiseEpoch{ID: id, Bump: true}, func(a any) { answered <- a })
			}
			var clients sync.WaitGroup
			clients.Go(func() {
				for at, v := range d.loadAt(serving, fmt.Sprint("during ", n), 400) {
					acked[at] = v
				}
			})
			clients.Wait()
			for done := false; !done; {
				select {
				case a := <-answered:
					if r, ok := a.(controller.EpochRaised); ok && r.Code == 0 {
						seen, raised = max(seen, r.Epoch), raised+1
					}
				default:
					done = true
				}
			}
			if p, ok := d.Newest().Partition(id); ok {
				seen = max(seen, p.LeaderEpoch)
			}
			for _, b := range d.Brokers() {
				if r, ok := b.Replica(id); ok {
					seen = max(seen, r.View().Epoch, r.Gates().Epoch)
					for _, e := range r.View().Epochs {
						seen = max(seen, e.Epoch)
					}
				}
			}
			if survive {
				d.lose(random, true)
			} else {
				d.lose(rand.New(never{}), true)
			}
			leader := d.leader(id)
			if now := leader.View().Epoch; now <= seen {
				t.Fatalf("power lost at sync %d: epoch %d leads again, epoch %d had been acted under", n, now, seen)
			}
			d.verify(id, acked)
		}
		t.Logf("survive %v: %d raises answered, %d acked", survive, raised, len(acked))
	}
}

// never keeps nothing: IntN(2) of it is 1.
type never struct{}

func (never) Uint64() uint64 { return 1<<64 - 1 }
