package broker

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/journal"
)

// Cluster is all logical brokers of this process, and the coordinators they share.
type Cluster struct {
	options    Options
	system     *shell.System
	brokers    []*Broker
	publisher  *publisher
	controller *shell.Ref[controller.Command]
}

// Options say what a cluster is made of.
type Options struct {
	Cluster core.ClusterID
}

// Broker is one logical broker: one volume, one listener, one image.
type Broker struct {
	id          core.ReplicaID
	feed        *feed
	producerIDs *producerIDs

	mu       sync.RWMutex
	replicas map[core.PartitionID]*Replica
	store    journal.Volume
}

// Replica is one partition at one broker: its partition actor and its HW actor.
type Replica struct {
	id        core.PartitionID
	broker    *Broker
	stream    journal.Stream
	partition *shell.Ref[partition.Command]
	highwater *shell.Ref[highwater.Command]
	view      atomic.Pointer[partition.View]
	gates     atomic.Pointer[highwater.PublishGates]
	floor     atomic.Pointer[highwater.PublishFloor]
}

type publisher struct{ current atomic.Pointer[image.Image] }

func (p *publisher) newest() *image.Image { return p.current.Load() }

type feed struct{ image atomic.Pointer[image.Image] }

func (f *feed) setHold(bool) {}

type producerIDs struct{}

func (p *producerIDs) next(func(int64, string)) {}

func (c *Cluster) highestProducerID() int64                                    { return 0 }
func (c *Cluster) stopBroker(core.ReplicaID, string, func(any))                {}
func (c *Cluster) startBroker(core.ReplicaID, func(any))                       {}
func (c *Cluster) leaderReplica(core.PartitionID) (*Replica, bool)             { return nil, false }
func (b *Broker) volume() journal.Volume                                       { return b.store }
func (r *Replica) read(a, b core.Offset, n int) ([]journal.StoredBatch, error) { return nil, nil }

func randomID() (id [16]byte) { rand.Read(id[:]); return id }
func randomPrefix() int32 {
	var b [4]byte
	rand.Read(b[:])
	return int32(binary.BigEndian.Uint32(b[:]) >> 1)
}
