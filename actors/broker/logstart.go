package broker

import "lockstep/actors/core"

// LowWatermark is the lowest log start among the replicas of a partition whose brokers are live, as they have it on disk;
// Unknown where none is. What lies below it is nowhere any more.
func (c *Cluster) LowWatermark(id core.PartitionID) core.Offset {
	img, low := c.Newest(), core.Unknown
	p, known := img.Partition(id)
	if !known {
		return core.Unknown
	}
	for _, at := range p.Replicas {
		if !img.Brokers[at].Live {
			continue
		}
		start := core.Offset(0)
		if r, ok := c.replica(at, id); ok {
			start = r.View().LogStart
		}
		if low == core.Unknown || start < low {
			low = start
		}
	}
	return low
}
