package checker

import (
	"sync"
	"time"
)

// recorder collects a history from all clients of a run.
type recorder struct {
	began time.Time
	mu    sync.Mutex
	h     History
}

func newRecorder() *recorder { return &recorder{began: time.Now()} }

// now is nanoseconds since the run began, on a clock that does not jump.
func (r *recorder) now() int64 { return int64(time.Since(r.began)) }

// add changes the history.
func (r *recorder) add(change func(h *History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.h)
}

// begin notes a send that is on its way, and returns how to end it.
func (r *recorder) begin(v Value, partition int) (ended func(o Outcome, offset int64)) {
	s := Send{Value: v, Partition: partition, Began: r.now(), Outcome: Unknown}
	at := 0
	r.add(func(h *History) { at = len(h.Sends); h.Sends = append(h.Sends, s) })
	return func(o Outcome, offset int64) {
		now := r.now()
		r.add(func(h *History) {
			s := &h.Sends[at]
			s.Outcome, s.Ended, s.Offset = o, now, offset
		})
	}
}

// counts are for the progress line.
func (r *recorder) counts() (acked, sent, txns, polled, register, faults int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.h.Sends {
		if r.h.Sends[i].Outcome == Done {
			acked++
		}
	}
	for i := range r.h.Polls {
		polled += len(r.h.Polls[i].Offsets)
	}
	return acked, len(r.h.Sends), len(r.h.Txns), polled, len(r.h.Register), len(r.h.Faults)
}

// unserved lists partitions of which no record sent after from is acknowledged.
func (r *recorder) unserved(from int64, partitions int) (open []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	served := make([]bool, partitions)
	for i := len(r.h.Sends) - 1; i >= 0 && r.h.Sends[i].Began >= from; i-- {
		if s := &r.h.Sends[i]; s.Outcome == Done {
			served[s.Partition] = true
		}
	}
	for p, ok := range served {
		if !ok {
			open = append(open, r.h.Partitions[p])
		}
	}
	return open
}
