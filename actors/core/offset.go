package core

import (
	"encoding/base64"
	"fmt"
	"strconv"
)

// Offset is a position in a partition log. LEO, HW, LSO and floors are exclusive: the next offset.
type Offset int64

// Unknown is an offset nobody has stated yet; it never equals a position (finding F01).
const Unknown Offset = -1

// LeaderEpoch numbers the leaders of one partition.
type LeaderEpoch int32

// NoEpoch is the epoch of an empty log.
const NoEpoch LeaderEpoch = -1

// TopicID is the identity of a topic; its name is only a label (F34).
type TopicID [16]byte

// String renders the id as Kafka's tools do: URL-safe base64 without padding.
func (t TopicID) String() string { return base64.RawURLEncoding.EncodeToString(t[:]) }

// IsZero reports whether no id was given.
func (t TopicID) IsZero() bool { return t == TopicID{} }

// PartitionID names one partition of one topic.
type PartitionID struct {
	Topic TopicID
	Index int32
}

func (p PartitionID) String() string { return p.Topic.String() + "/" + strconv.Itoa(int(p.Index)) }

// ReplicaID is the id of a logical broker, 1..N within its own cluster. Ids of two clusters overlap:
// never put them into one set (F03).
type ReplicaID int32

// NoReplica says that a partition has no leader.
const NoReplica ReplicaID = -1

// ClusterID names a cluster, [A-Za-z0-9_-]{1,64}.
type ClusterID string

// MirrorName is chosen by the operator of the destination.
type MirrorName string

// MirrorKey names one mirror across clusters: two destinations may choose the same name (F33).
type MirrorKey struct {
	Cluster ClusterID // the destination
	Mirror  MirrorName
}

func (k MirrorKey) String() string { return string(k.Cluster) + "/" + string(k.Mirror) }

// Incarnation is a random identity drawn when something is made: a volume, a mirrored log.
type Incarnation [16]byte

func (i Incarnation) String() string { return fmt.Sprintf("%x", i[:]) }

type (
	// RegistrationEpoch numbers admitted registrations of one key and is never reused (R2, G8).
	RegistrationEpoch int64
	// Generation numbers the commands of a destination for one key (C3).
	Generation int64
	// ReleaseNumber numbers releases of one mirror; 0 means none (C3, F14).
	ReleaseNumber int64
	// Era numbers the reigns over one topic: each move of its writes to another cluster is one more (C8).
	Era int64
	// MirrorTerm numbers adoptions of a source epoch inside a destination partition (R4, F05).
	MirrorTerm int64
	// MirrorSession numbers the fetch sessions of one mirrored partition (R3, model A1).
	MirrorSession int64
	// RequestID correlates a request with its reply; unique within a process.
	RequestID uint64
)

// maxEra leaves room for every move there will be, and for those that add one.
const maxEra Era = 1 << 62

// Plausible reports whether an era can be one. Others are damage or a forgery: whoever took one over could not go above it.
func (e Era) Plausible() bool { return e >= 0 && e <= maxEra }
