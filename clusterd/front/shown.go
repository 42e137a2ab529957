package front

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/partition"
)

// An ack does not wait until the ledger entry of its HW is on disk; what readers are shown does (I14). A reader
// that comes after an ack must find the record all the same, so it waits for the one sync between.

// showGrace bounds that wait. A fetch is then answered with what there is on a disk that takes longer; an end of the log
// that lacks what was acknowledged would be read as its loss, and the client asks again.
const showGrace = time.Second

// whenShown composes an answer once the partitions show everything that was acknowledged before the request, or the wait
// is over.
func (f *Front) whenShown(slot *Slot, bounds func() []*broker.Replica, compose func(*showing) kmsg.Response) {
	w := &showing{slot: slot, parked: map[*broker.Replica]core.RequestID{}, wanted: map[*broker.Replica]core.Offset{}}
	slot.OnClose(w.end)
	begun := false
	slot.Turn(func() (kmsg.Response, bool) {
		if !begun {
			begun = true
			w.await(bounds())
		}
		if !w.over() {
			return nil, false
		}
		w.end()
		return compose(w), true
	})
}

// showing is one answer that waits for partitions to show what they acknowledged.
type showing struct {
	slot *Slot

	mu     sync.Mutex
	parked map[*broker.Replica]core.RequestID // 0: not known yet
	wanted map[*broker.Replica]core.Offset    // HW that the answer must not be below, of those that did not show it
	late   time.Time
	timer  *time.Timer
	ended  bool
}

func (w *showing) await(replicas []*broker.Replica) {
	for _, r := range replicas {
		v := r.View()
		if v.Coming <= v.HW || !waitForShown {
			continue
		}
		w.mu.Lock()
		_, waits := w.parked[r]
		w.wanted[r] = v.Coming
		if w.timer == nil {
			w.late = time.Now().Add(showGrace)
			w.timer = time.AfterFunc(showGrace, w.slot.Look)
		}
		if !waits {
			w.parked[r] = 0
		}
		w.mu.Unlock()
		if waits {
			continue
		}
		ref := r.Ask(func(ref core.RequestID) partition.Command {
			return partition.ParkFetch{Ref: ref, Until: partition.PositionHW, Beyond: v.Coming - 1}
		}, func(any) { w.woken(r) })
		w.mu.Lock()
		if _, waits := w.parked[r]; waits {
			w.parked[r] = ref
		}
		w.mu.Unlock()
	}
}

func (w *showing) woken(r *broker.Replica) {
	w.mu.Lock()
	delete(w.parked, r)
	w.mu.Unlock()
	w.slot.Look()
}

func (w *showing) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended || len(w.parked) == 0 || !time.Now().Before(w.late)
}

// lacks tells whether a partition does not show yet what was acknowledged before the request.
func (w *showing) lacks(r *broker.Replica, v partition.View) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return v.HW < w.wanted[r]
}

func (w *showing) end() {
	w.mu.Lock()
	waiting := w.parked
	w.parked, w.ended = map[*broker.Replica]core.RequestID{}, true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	for r, ref := range waiting {
		if ref != 0 {
			r.Unpark(ref)
		}
	}
}
