package image

import (
	"lockstep/actors/core"
	"lockstep/actors/core/access"
)

// Fact is one step of the ordered stream. Facts carry whole values, so applying one twice is harmless.
//
//sumtype:decl
type Fact interface{ isFact() }

type (
	// ClusterNamed is the first fact of every stream.
	ClusterNamed struct {
		Cluster     core.ClusterID
		Incarnation core.Incarnation
	}
	// BrokerChanged replaces what is known of one broker.
	BrokerChanged struct{ Broker Broker }
	// TopicChanged adds or replaces a topic: name, settings, and all partitions.
	TopicChanged struct{ Topic Topic }
	// PartitionChanged replaces one partition of a known topic: an election or an ISR change.
	PartitionChanged struct {
		ID        core.PartitionID
		Partition Partition
	}
	// TopicGone removes a topic.
	TopicGone struct{ ID core.TopicID }
	// MirrorTopicChanged replaces what the mirror says of a topic; State MirrorNone removes it.
	MirrorTopicChanged struct {
		ID    core.TopicID
		Topic MirrorTopic
	}
	// FeaturesChanged replaces the levels that an operator finalized.
	FeaturesChanged struct{ Levels map[string]int16 }
	// QuotaChanged replaces the limits of a client entity; none removes it.
	QuotaChanged struct {
		Entity QuotaEntity
		Limits map[string]float64
	}
	// SettingsChanged replaces what an operator set for a running broker, or for all of them (NoReplica); none removes it.
	SettingsChanged struct {
		Broker core.ReplicaID
		Values map[string]string
	}
	// ACLsChanged says which bindings there are, and which there are not any more; nothing of others.
	ACLsChanged struct{ Added, Removed []access.Binding }
	// CredentialChanged replaces a credential of a user; one without iterations removes it.
	CredentialChanged struct {
		Of         access.UserMechanism
		Credential access.Credential
	}
	// RegistrationsChanged replaces the registrations of a source topic.
	RegistrationsChanged struct {
		ID            core.TopicID
		Registrations Registrations
	}
)

func (ClusterNamed) isFact()         {}
func (BrokerChanged) isFact()        {}
func (TopicChanged) isFact()         {}
func (PartitionChanged) isFact()     {}
func (TopicGone) isFact()            {}
func (MirrorTopicChanged) isFact()   {}
func (FeaturesChanged) isFact()      {}
func (QuotaChanged) isFact()         {}
func (SettingsChanged) isFact()      {}
func (ACLsChanged) isFact()          {}
func (CredentialChanged) isFact()    {}
func (RegistrationsChanged) isFact() {}
