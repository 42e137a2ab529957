package controller

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// Effect is something the world must do for the controller.
type Effect interface{ isEffect() }

// Publish hands facts to the image publisher. Always late: brokers only learn what is durable.
type Publish struct{ Facts []image.Fact }

// Done answers StopBroker, StartBroker and DeleteTopic. Code 0 is success.
type Done struct {
	Ref  core.RequestID
	Code perr.Code
	Text string
}

// TopicCreated answers CreateTopic.
type TopicCreated struct {
	Ref   core.RequestID
	Code  perr.Code
	Text  string
	Topic image.Topic // as it is (or would be) created
}

// EpochRaised answers RaiseEpoch.
type EpochRaised struct {
	Ref   core.RequestID
	Code  perr.Code
	Epoch core.LeaderEpoch
}

// ProducerIDs answers AllocateProducerIDs: ids [First, First+Count).
type ProducerIDs struct {
	Ref   core.RequestID
	First int64
	Count int64
}

// DropReplica asks the broker to forget a deleted partition's log.
type DropReplica struct {
	ID      core.PartitionID
	Replica core.ReplicaID
}

func (e Done) ReplyTo() core.RequestID         { return e.Ref }
func (e TopicCreated) ReplyTo() core.RequestID { return e.Ref }
func (e EpochRaised) ReplyTo() core.RequestID  { return e.Ref }
func (e ProducerIDs) ReplyTo() core.RequestID  { return e.Ref }

func (Publish) isEffect()      {}
func (Done) isEffect()         {}
func (TopicCreated) isEffect() {}
func (EpochRaised) isEffect()  {}
func (ProducerIDs) isEffect()  {}
func (DropReplica) isEffect()  {}
