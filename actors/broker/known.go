package broker

import (
	"sync/atomic"

	"lockstep/actors/core"
)

// known is what has been let out of one partition since the process began, over all its leaders.
type known struct {
	acked mark // the highest HW an ack was given under
	shown mark // the highest HW a reader saw
}

// knownOf is shared by the replicas of a partition.
func (c *Cluster) knownOf(id core.PartitionID) *known {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[id]
	if k == nil {
		k = &known{}
		c.known[id] = k
	}
	return k
}

// forgetKnown follows a deletion: mirrored topics keep their id, and one that is made again starts empty.
func (c *Cluster) forgetKnown(topic core.TopicID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.known {
		if id.Topic == topic {
			delete(c.known, id)
		}
	}
}

// mark is an offset that grows. Safe from any goroutine.
type mark struct{ at atomic.Int64 }

func (m *mark) raise(to core.Offset) {
	for {
		old := m.at.Load()
		if int64(to) <= old || m.at.CompareAndSwap(old, int64(to)) {
			return
		}
	}
}

// lower is for a leader whose log ends below the mark: the loss was accepted, and what is written there from
// now on is not what was committed once.
func (m *mark) lower(end core.Offset) {
	for {
		old := m.at.Load()
		if int64(end) >= old || m.at.CompareAndSwap(old, int64(end)) {
			return
		}
	}
}

// upTo is the mark as far as a log that ends at leo can bear it out.
func (m *mark) upTo(leo core.Offset) core.Offset { return min(core.Offset(m.at.Load()), leo) }
