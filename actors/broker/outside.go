package broker

import (
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
)

// Fetchers pull from source clusters. Implemented by actors/fetcher, and by a simulator. Calls do not
// block; each replaces what was said before of the same mirror or topic.
type Fetchers interface {
	Fetch(mirror.FetchTopic)
	Watch(mirror.WatchSource)
	// Refresh reads a source's metadata before its time.
	Refresh(core.MirrorName)
}

// Bus carries what cannot wait for a fetch. Implemented by actors/bus, and by a simulator. Calls do not
// block, and whatever they carry may be lost: all of it is repeated or also travels in band.
type Bus interface {
	Register(mirror.SendRegister)
	Unregister(mirror.SendUnregister)
	Supersede(mirror.SendSupersede)
	// PublishFloor follows the change of Replica.Floor.
	PublishFloor(core.PartitionID, highwater.PublishFloor)
	// GatesChanged says that Cluster.Evidence has news of a partition.
	GatesChanged(core.PartitionID)
	// Released tells a destination; no topics: the whole mirror.
	Released(core.MirrorKey, core.ReleaseNumber, []core.TopicID)
	// Lifted tells a destination that its recoveries are no longer held; no topics: the whole mirror.
	Lifted(core.MirrorKey, []core.TopicID)
}

// outside is who stands between this cluster and others; both are nil until Attach.
type outside struct {
	fetchers Fetchers
	bus      Bus
}

// Attach names the fetchers and the bus and lets mirrors resume: fetchers, pending commands, half-finished
// stops. What was asked of them before is forgotten, since Resume asks again.
func (c *Cluster) Attach(fetchers Fetchers, bus Bus) {
	c.outside.Store(&outside{fetchers, bus})
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, m := range c.mirrors {
		m.Tell(mirror.Resume{Defaults: c.options.Mirrors})
	}
}

func (c *Cluster) withBus(f func(Bus)) {
	if o := c.outside.Load(); o != nil {
		f(o.bus)
	}
}
