package log

import (
	"cmp"
	"slices"
	"sync"

	"lockstep/actors/core"
)

// Witness is shared by the volumes of a process: each says in its group headers how far its siblings
// were durable, so that a volume that comes back shorter is found out without a pin fsync per group
// (D13). Safe for concurrent use.
type Witness struct {
	mu    sync.Mutex
	marks map[core.ReplicaID]Mark
}

// NewWitness knows nobody yet.
func NewWitness() *Witness { return &Witness{marks: map[core.ReplicaID]Mark{}} }

// Publish replaces what is known about the mark's volume.
func (w *Witness) Publish(m Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks[m.Broker] = m
}

// siblings appends the marks of everyone but broker, in broker order.
func (w *Witness) siblings(to []Mark, broker core.ReplicaID) []Mark {
	w.mu.Lock()
	for id, m := range w.marks {
		if id != broker && len(to) < groupMarks {
			to = append(to, m)
		}
	}
	w.mu.Unlock()
	slices.SortFunc(to, func(a, b Mark) int { return cmp.Compare(a.Broker, b.Broker) })
	return to
}

// Forget drops a volume that was given up for good.
func (w *Witness) Forget(broker core.ReplicaID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.marks, broker)
}
