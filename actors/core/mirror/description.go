package mirror

import "lockstep/actors/core"

// Description is a mirror as operators read it: everything --describe [--json] needs.
type Description struct {
	Mirror        core.MirrorName
	Exists        bool // false: never created, or deleted
	SourceCluster core.ClusterID
	Config        map[string]string
	Include       []string
	Exclude       []string
	Topics        []TopicDescription // by name
}

// TopicDescription is one mirrored topic.
type TopicDescription struct {
	Topic     core.TopicID
	Name      string
	State     string // SYNC, PARTIAL, "SYNC until T, unconfirmed since …", ARMING k of n, … (I44: never SYNC alone when a partition is not gated)
	Phase     Phase
	Desired   Type
	Effective Type
	Recovery  bool // released or demoted, on its way back
	// Reporting: the source may still gate on us (a Register was sent and not withdrawn).
	Reporting   bool
	Epoch       core.RegistrationEpoch
	Generation  core.Generation
	Release     core.ReleaseNumber // newest seen
	Incarnation core.Incarnation
	Session     core.MirrorSession
	Armed       int32 // k of n
	Partial     bool
	Unconfirmed bool
	ZeroRPO     bool      // now: the source promised that no release lets an ack pass before the lease is over (C4)
	T           ClaimTime // every acks=all record acknowledged up to T (source clock) is here; zero: no claim
	// Class is what T rests on, of a topic that is ARMING, SYNC or was stopped from there.
	Class        Class
	ContactWall  int64 // Unix ms of the newest contact that confirmed every partition; 0: none since start
	RetryAttempt int32
	ErrorMessage string
	Step         Step // while STOPPING
	Verb         Verb // what ends or ended the mirroring
	Era          core.Era
	Moving       bool  // a switchover waits for the source
	Telling      bool  // a failover that the old source has not answered
	Heard        Heard // what it answered
	Partitions   []PartitionDescription
}

// PartitionDescription is one mirrored partition.
type PartitionDescription struct {
	Partition         int32
	State             string
	SourceOffset      core.Offset // HW of the source in its newest answer; Unknown if there is none since start
	DestinationOffset core.Offset // LEO here
	Lag               int64       // -1: unknown
	Armed             bool
	ZeroRPOFrom       core.Offset // Unknown: not armed
	T                 ClaimTime   // newest evidence of this partition since start
	Failing           bool
	FailingSinceWall  int64 // Unix ms; 0: not failing
	RetryAttempt      int32
	ErrorMessage      string
	SourceEpoch       core.LeaderEpoch
	LastMirroredEpoch core.LeaderEpoch // NoEpoch until stopped
	Floor             core.Offset      // that the source has accepted since start; Unknown: none
	GatedIn           core.LeaderEpoch // newest source epoch whose leader was seen to gate on us since Armed; NoEpoch: none
	Refused           bool             // the source has said since that it does not gate
	SourceEnd         core.Offset      // where the source ended at a stop or switchover; Unknown: not stated
}
