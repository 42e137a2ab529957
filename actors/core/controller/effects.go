package controller

import (
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// Effect is something the world must do for the controller.
//
//sumtype:decl
type Effect interface{ isEffect() }

// Publish hands facts to the image publisher. Always late: brokers only learn what is durable.
type Publish struct{ Facts []image.Fact }

// Done answers StopBroker, StartBroker, CreatePartitions and DeleteTopic. Code 0 is success.
type Done struct {
	Ref  core.RequestID
	Code perr.Code
	Text string
}

// CreatedTopic answers CreateTopic. A mirrored topic that is here already, same id and same name, is
// TOPIC_ALREADY_EXISTS with Topic as it is.
type CreatedTopic struct {
	Ref   core.RequestID
	Code  perr.Code
	Text  string
	Topic image.Topic // as it is (or, with ValidateOnly, would be) created
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

// FeaturesAnswered answers UpdateFeatures, in the order of the updates. Unless all codes are 0, nothing changed.
type FeaturesAnswered struct {
	Ref     core.RequestID
	Results []FeatureResult
}

// FeatureResult is what became of one feature.
type FeatureResult struct {
	Feature string
	Code    perr.Code
	Text    string
}

// QuotasAnswered answers AlterQuotas, entry by entry.
type QuotasAnswered struct {
	Ref     core.RequestID
	Results []QuotaResult
}

// QuotaResult is what became of one entry. Code 0 is success.
type QuotaResult struct {
	Code perr.Code
	Text string
}

// ACLsCreated answers CreateACLs, binding by binding.
type ACLsCreated struct {
	Ref     core.RequestID
	Results []ACLResult
}

// ACLResult is what became of one binding. Code 0: it is there.
type ACLResult struct {
	Code perr.Code
	Text string
}

// ACLsDeleted answers DeleteACLs, filter by filter.
type ACLsDeleted struct {
	Ref     core.RequestID
	Results []ACLsMatched
}

// ACLsMatched are the bindings that a filter selected, which are gone. One that several filters selected is of each.
type ACLsMatched struct {
	Code    perr.Code
	Text    string
	Removed []access.Binding
}

// CredentialsAnswered answers AlterCredentials, user by user in the order in which they were named first.
type CredentialsAnswered struct {
	Ref     core.RequestID
	Results []CredentialResult
}

// CredentialResult is what became of one user. Code 0 is success.
type CredentialResult struct {
	User string
	Code perr.Code
	Text string
}

// ReassignmentsAnswered answers AlterReassignments, entry by entry.
type ReassignmentsAnswered struct {
	Ref     core.RequestID
	Results []ReassignmentResult
}

// ReassignmentResult is what became of one entry. Code 0: it is under way, or done.
type ReassignmentResult struct {
	Code perr.Code
	Text string
}

// HandOver asks for FinishReassignment: every replica that a partition is to have is in sync. Leader, unless it is
// NoReplica, is to be closed before, because it will not be one of them.
type HandOver struct {
	ID     core.PartitionID
	Leader core.ReplicaID
	Epoch  core.LeaderEpoch
}

// ISRRefused tells the leader that its proposal was not taken. The partition as it is has been
// published again just before, so whatever made the leader propose in vain reaches it.
type ISRRefused struct {
	ID             core.PartitionID
	Leader         core.ReplicaID // who proposed
	PartitionEpoch int32          // of the proposal
}

// DropReplica asks the broker to forget a deleted partition's log.
type DropReplica struct {
	ID      core.PartitionID
	Replica core.ReplicaID
}

func (e Done) ReplyTo() core.RequestID                  { return e.Ref }
func (e CreatedTopic) ReplyTo() core.RequestID          { return e.Ref }
func (e EpochRaised) ReplyTo() core.RequestID           { return e.Ref }
func (e ProducerIDs) ReplyTo() core.RequestID           { return e.Ref }
func (e FeaturesAnswered) ReplyTo() core.RequestID      { return e.Ref }
func (e ReassignmentsAnswered) ReplyTo() core.RequestID { return e.Ref }
func (e QuotasAnswered) ReplyTo() core.RequestID        { return e.Ref }
func (e ACLsCreated) ReplyTo() core.RequestID           { return e.Ref }
func (e ACLsDeleted) ReplyTo() core.RequestID           { return e.Ref }
func (e CredentialsAnswered) ReplyTo() core.RequestID   { return e.Ref }

func (Publish) isEffect()               {}
func (Done) isEffect()                  {}
func (CreatedTopic) isEffect()          {}
func (EpochRaised) isEffect()           {}
func (ProducerIDs) isEffect()           {}
func (FeaturesAnswered) isEffect()      {}
func (ReassignmentsAnswered) isEffect() {}
func (HandOver) isEffect()              {}
func (QuotasAnswered) isEffect()        {}
func (ACLsCreated) isEffect()           {}
func (ACLsDeleted) isEffect()           {}
func (CredentialsAnswered) isEffect()   {}
func (ISRRefused) isEffect()            {}
func (DropReplica) isEffect()           {}
