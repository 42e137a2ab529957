package broker

import (
	"fmt"
	"log/slog"
	"strconv"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
	"lockstep/actors/shell"
	"lockstep/journal"
)

const mirrorStreams = "control/mirror/"

// quorumLost ends the process: without a majority of control volumes nothing can be decided (D15).
func (c *Cluster) quorumLost(err error) {
	c.system.Exit("control quorum lost: " + err.Error() + "; restore a volume so that a majority of them is there, then start again")
}

func (c *Cluster) spawnController(replayed func(*controller.State)) *shell.Ref[controller.Command] {
	return shell.Spawn(c.system, shell.Spec[controller.State, controller.Command, controller.Event, controller.Effect]{
		ID: "controller", Machine: controller.Machine(), Journal: c.options.Control, Stream: "control/controller", Level: slog.LevelInfo,
		Timer:   func(controller.Effect) (int64, bool) { return 0, false },
		Perform: c.performController,
		Started: func(s *controller.State, again bool) {
			if again {
				c.republish(s.Facts())
				for _, h := range s.HandOvers() {
					c.handOver(h)
				}
				return
			}
			replayed(s)
		},
		Lost: c.quorumLost,
	})
}

// republish follows a panic of the controller: facts it had promised to publish may have been lost with
// the instance, and whole values do no harm twice.
func (c *Cluster) republish(facts []image.Fact) {
	known := map[core.TopicID]bool{}
	for _, fact := range facts {
		if t, ok := fact.(image.TopicChanged); ok {
			known[t.Topic.ID] = true
		}
	}
	for id := range c.Newest().Topics {
		if !known[id] {
			facts = append(facts, image.TopicGone{ID: id})
		}
	}
	c.publisher.publish(facts)
}

func (c *Cluster) performController(f controller.Effect) {
	switch e := f.(type) {
	case controller.Publish:
		c.stats.published(c.Newest(), e)
		c.publisher.publish(e.Facts)
		if _, first := e.Facts[0].(image.ClusterNamed); first {
			c.once.Do(func() { close(c.restarted) })
		}
	case controller.ISRRefused:
		if r, ok := c.replica(e.Leader, e.ID); ok {
			r.highwater.Tell(highwater.ISRRefused{PartitionEpoch: e.PartitionEpoch})
		}
	case controller.DropReplica:
		if b, ok := c.Broker(e.Replica); ok {
			b.drop(e.ID)
		}
	case controller.HandOver:
		c.handOver(e)
	case controller.ReassignmentsAnswered, controller.CreatedTopic, controller.Done, controller.EpochRaised, controller.FeaturesAnswered, controller.QuotasAnswered, controller.ProducerIDs,
		controller.ACLsCreated, controller.ACLsDeleted, controller.CredentialsAnswered:
		panic(fmt.Sprintf("broker: %T is routed by the shell", f))
	default:
		panic(fmt.Sprintf("broker: unknown controller effect %T", f))
	}
}

// topicGone tells the coordinators of a deletion.
func (c *Cluster) topicGone(id core.TopicID) {
	c.registration.Tell(registration.DropTopic{Topic: id})
	c.forgetKnown(id)
	if m, mirrored := c.Newest().Mirrors[id]; mirrored {
		c.tellMirror(m.Mirror, mirror.LocalTopicDeleted{Topic: id})
	}
}

func (c *Cluster) spawnRegistration() *shell.Ref[registration.Command] {
	return shell.Spawn(c.system, shell.Spec[registration.State, registration.Command, registration.Event, registration.Effect]{
		ID: "registration", Machine: namedAs(registration.Machine(), string(c.options.Cluster)), Journal: c.options.Control, Stream: "control/registration",
		Level: slog.LevelInfo, Tick: registration.Tick{},
		Timer:   func(f registration.Effect) (int64, bool) { t, ok := f.(registration.ArmTimer); return t.At, ok },
		Perform: c.performRegistration,
		Observe: c.warnOfRegistration,
		Started: func(_ *registration.State, again bool) {
			if again {
				c.registration.Tell(c.resumed(c.topicIDs()))
			}
		},
		Lost: c.quorumLost,
	})
}

// namedAs gives a machine its own name instead of the actor's.
func namedAs[S, C, E, F any](m core.Machine[S, C, E, F], name string) core.Machine[S, C, E, F] {
	init, restore := m.Init, m.Restore
	m.Init = func(string) *S { return init(name) }
	m.Restore = func(_ string, snapshot []byte) (*S, error) { return restore(name, snapshot) }
	return m
}

func (c *Cluster) topicIDs() []core.TopicID {
	var ids []core.TopicID
	for id := range c.Newest().Topics {
		ids = append(ids, id)
	}
	return ids
}

func (c *Cluster) performRegistration(f registration.Effect) {
	switch e := f.(type) {
	case registration.Publish:
		c.publisher.publish(e.Facts)
	case registration.PublishLedger:
		c.ledger.Store(&e.Ledger)
	case registration.NotifyReleased:
		c.withBus(func(b Bus) { b.Released(e.Key, e.Number, e.Topics) })
	case registration.NoteRelease:
		c.registration.Tell(registration.ReleasePublished{Key: e.Key, Number: e.Number, Lease: c.lease()})
	case registration.NotifyLifted:
		c.withBus(func(b Bus) { b.Lifted(e.Key, e.Topics) })
	case registration.ArmTimer, registration.Described, registration.RegisterAnswered, registration.ReleaseAnswered, registration.SupersedeAnswered, registration.UnregisterAnswered:
		panic(fmt.Sprintf("broker: %T is routed by the shell", f))
	default:
		panic(fmt.Sprintf("broker: unknown registration effect %T", f))
	}
}

func (c *Cluster) spawnGroup(shard int) *shell.Ref[group.Command] {
	name := "group-" + strconv.Itoa(shard)
	return shell.Spawn(c.system, shell.Spec[group.State, group.Command, group.Event, group.Effect]{
		ID: name, Machine: group.Machine(), Journal: c.options.Control, Stream: journal.Stream("control/" + name), Level: slog.LevelInfo, Tick: group.Tick{},
		Timer:   func(f group.Effect) (int64, bool) { t, ok := f.(group.ArmTimer); return t.At, ok },
		Perform: func(f group.Effect) { panic(fmt.Sprintf("broker: unknown group effect %T", f)) },
		Started: func(_ *group.State, again bool) {
			if again {
				c.groups[shard].Tell(group.Resume{Settings: c.options.Groups})
			}
		},
		Lost: c.quorumLost,
	})
}

// GroupOwner is the broker that serves a group, as img sees it; NoReplica while none is live.
func (c *Cluster) GroupOwner(img *image.Image, groupID string) core.ReplicaID {
	return img.ShardOwner(group.Shard(groupID))
}

// GroupShards lists the shards that img gives to a broker.
func (c *Cluster) GroupShards(img *image.Image, owner core.ReplicaID) []int32 {
	return shardsOf(img, owner, group.Shards)
}

// shardsOf lists the first n shards that img gives to a broker.
func shardsOf(img *image.Image, owner core.ReplicaID, n int32) (list []int32) {
	for shard := range n {
		if img.ShardOwner(shard) == owner {
			list = append(list, shard)
		}
	}
	return list
}

// Group asks the shard of a group. Whether this broker serves it is the caller's to check (GroupOwner).
func (c *Cluster) Group(groupID string, build func(core.RequestID) group.Command, reply func(any)) {
	c.GroupShard(group.Shard(groupID), build, reply)
}

// GroupShard asks one shard.
func (c *Cluster) GroupShard(shard int32, build func(core.RequestID) group.Command, reply func(any)) {
	c.groups[shard].Ask(build, reply)
}
