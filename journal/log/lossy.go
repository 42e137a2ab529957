package log

import (
	"fmt"

	"lockstep/actors/core"
)

// Opened is one volume of a process with what its Open found.
type Opened struct {
	Log    *Log
	Report Report
}

// Lossy compares what every volume was known to hold, by the newest group of each sibling, with what
// it holds now (D13, I32). It returns the reason per broker whose volume lost something it had made
// durable: its replicas stay outside the ISR until they are refilled. It also starts the witness: call
// it once, before anything is submitted.
func Lossy(volumes []Opened, witness *Witness) map[core.ReplicaID]string {
	lossy := map[core.ReplicaID]string{}
	for _, from := range volumes {
		for _, m := range from.Report.Siblings {
			witness.Publish(m) // a volume that is not here keeps its last mark
			for _, v := range volumes {
				if v.Log.meta.Broker != m.Broker || v.Log.o.Durability == OS {
					continue
				}
				if reason := v.contradicts(m); reason != "" {
					lossy[m.Broker] = fmt.Sprintf("volume of broker %d is LOSSY: %s, as witnessed by the volume of broker %d", m.Broker, reason, from.Log.meta.Broker)
				}
			}
		}
	}
	for _, v := range volumes {
		if v.Log.o.Durability == Fsync {
			witness.Publish(Mark{v.Log.meta.Volume, v.Log.meta.Broker, v.Report.Last, v.Report.Hash})
		}
	}
	return lossy
}

func (v Opened) contradicts(m Mark) string {
	switch {
	case v.Log.meta.Volume != m.Volume && m.Index > 0:
		return fmt.Sprintf("it is volume %s, volume %s with %d entries stood in its place", v.Log.meta.Volume, m.Volume, m.Index)
	case m.Index > v.Report.Last:
		return fmt.Sprintf("it ends at index %d, index %d was durable", v.Report.Last, m.Index)
	}
	if h, known := v.Report.recent[m.Index]; known && m.Index > 0 && h != m.Hash && v.Log.meta.Volume == m.Volume {
		return fmt.Sprintf("its hash at index %d is %s, %s was durable", m.Index, h, m.Hash)
	}
	return ""
}

// LossyBeside is Lossy for a volume that is reopened while its siblings run: what they remember of it is
// the mark it published itself before it was closed.
func LossyBeside(v Opened, witness *Witness) string {
	reason := ""
	if v.Log.o.Durability == Fsync {
		witness.mu.Lock()
		m, known := witness.marks[v.Log.meta.Broker]
		witness.mu.Unlock()
		if known {
			reason = v.contradicts(m)
		}
		witness.Publish(Mark{v.Log.meta.Volume, v.Log.meta.Broker, v.Report.Last, v.Report.Hash})
	}
	if reason != "" {
		reason = fmt.Sprintf("volume of broker %d is LOSSY: %s, as its siblings witnessed", v.Log.meta.Broker, reason)
	}
	return reason
}
