package controller

const (
	maxInt  = 1<<31 - 1
	maxLong = float64(1 << 63)
)

const kept = " (kept and shown, not acted on)"

// Settings is the one table of topic and cluster settings, sorted by name. Names, types, defaults and
// ranges are Kafka's; our own begin with "lockstep.".
var Settings = []Setting{
	{Name: "auto.create.topics.enable", Type: Boolean, Default: "true", Scope: BrokerScope, Meaning: "A produce or a metadata request makes a missing topic."},
	{Name: "cleanup.policy", Type: List, Default: "delete", Scope: TopicScope, Allowed: []string{"delete", "compact"}, Meaning: "How old records go away; compact is accepted but nothing is compacted yet."},
	{Name: "compression.type", Type: String, Default: "producer", Scope: TopicScope, Allowed: []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}, Meaning: "Batches stay as the producer compressed them, whatever is set" + kept + "."},
	{Name: "default.replication.factor", Type: Int, Scope: BrokerScope, Min: 1, Max: 32767, Meaning: "Replicas of a topic that asks for -1; without it min(3, brokers)."},
	{Name: "delete.retention.ms", Type: Long, Default: "86400000", Scope: TopicScope, Min: 0, Max: maxLong, Meaning: "How long tombstones stay" + kept + "."},
	{Name: "file.delete.delay.ms", Type: Long, Default: "60000", Scope: TopicScope, Min: 0, Max: maxLong, Meaning: "Delay before files are removed" + kept + "."},
	{Name: "flush.messages", Type: Long, Default: "9223372036854775807", Scope: TopicScope, Min: 1, Max: maxLong, Meaning: "Every acknowledged write is flushed anyway" + kept + "."},
	{Name: "flush.ms", Type: Long, Default: "9223372036854775807", Scope: TopicScope, Min: 0, Max: maxLong, Meaning: "Every acknowledged write is flushed anyway" + kept + "."},
	{Name: "follower.replication.throttled.replicas", Type: List, Scope: TopicScope, Meaning: "Throttled followers" + kept + "."},
	{Name: "group.initial.rebalance.delay.ms", Type: Int, Default: "3000", Scope: BrokerScope, Min: 0, Max: maxInt, Meaning: "How long an empty group waits for more members before its first round."},
	{Name: "group.max.session.timeout.ms", Type: Int, Default: "1800000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The longest session a member may ask for."},
	{Name: "group.max.size", Type: Int, Default: "2147483647", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "Members a group may have."},
	{Name: "group.min.session.timeout.ms", Type: Int, Default: "6000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The shortest session a member may ask for."},
	{Name: "index.interval.bytes", Type: Int, Default: "4096", Scope: TopicScope, Min: 0, Max: maxInt, Meaning: "Every batch is indexed" + kept + "."},
	{Name: "leader.replication.throttled.replicas", Type: List, Scope: TopicScope, Meaning: "Throttled leaders" + kept + "."},
	{Name: "lockstep.claim.lease.ms", Type: Long, Default: "10000", Scope: BrokerScope, Min: 300, Max: 3600000, Meaning: "How long a mirror's claim stands without a new confirmation by its source; a mirror may set its own."},
	{Name: "lockstep.group.member.max.bytes", Type: Int, Default: "1048576", Scope: BrokerScope, Min: 1024, Max: maxInt, Meaning: "What the protocols of one group member may take, names and subscriptions together."},
	{Name: "lockstep.group.shard.max.bytes", Type: Long, Default: "33554432", Scope: BrokerScope, Min: 65536, Max: maxLong, Meaning: "Memory that each of the 16 shards of consumer groups may take for members, and again for groups with their offsets."},
	{Name: "lockstep.ledger", Type: String, Default: "evidence", Scope: TopicScope, Allowed: []string{"evidence", "strict"}, Meaning: "strict: an ack waits until the ledger entry that released it is on disk. evidence: it does not, and an audit may say UNKNOWN of the last ones before a crash."},
	{Name: "lockstep.metrics.partitions.max", Type: Int, Default: "10000", Scope: BrokerScope, Min: 0, Max: 2147483647, Meaning: "Clusters with more partitions show no metrics of single partitions; 0: never."},
	{Name: "lockstep.release.after.lease", Type: Boolean, Default: "false", Scope: BrokerScope, Meaning: "Every release of a mirror withholds acks until the destination has heard of it or lockstep.claim.lease.ms is over, and evidence promises so: destinations may then call a confirmed topic zero RPO at this moment."},
	{Name: "lockstep.superseded.rebootstrap", Type: Boolean, Default: "false", Scope: BrokerScope, Meaning: "Clients that ask only for topics another cluster has taken over are told to go back to their bootstrap servers (KIP-1102). Consumer groups find no offsets there."},
	{Name: "lockstep.switchover.timeout.ms", Type: Long, Default: "30000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "How long a switchover may keep a topic's producers waiting at its source before it is given up."},
	{Name: "lockstep.sync.min.class", Type: String, Default: "reported", Scope: TopicScope, Allowed: []string{"reported", "proven"}, Meaning: "What may make the topic SYNC: reported admits peers that speak only the KIP, proven refuses them. Also a setting of a mirror."},
	{Name: "lockstep.weak.acks", Type: String, Default: "allow", Scope: TopicScope, Allowed: []string{"allow", "refuse", "upgrade"}, Meaning: "What acks=0 and acks=1 meet on a topic that a mirror gates: allow counts and shows them, refuse answers INVALID_REQUIRED_ACKS, upgrade waits as for acks=all."},
	{Name: "max.compaction.lag.ms", Type: Long, Default: "9223372036854775807", Scope: TopicScope, Min: 1, Max: maxLong, Meaning: "Longest time before a record is compacted" + kept + "."},
	{Name: "max.message.bytes", Type: Int, Default: "1048588", Scope: TopicScope, Min: 0, Max: maxInt, Meaning: "The largest record batch a client may write; batches that a mirror copies may be larger."},
	{Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000", Scope: TopicScope, Min: 0, Max: maxLong, Meaning: "How far in the future a record's time may lie."},
	{Name: "message.timestamp.before.max.ms", Type: Long, Default: "9223372036854775807", Scope: TopicScope, Min: 0, Max: maxLong, Meaning: "How far in the past a record's time may lie."},
	{Name: "message.timestamp.type", Type: String, Default: "CreateTime", Scope: TopicScope, Allowed: []string{"CreateTime", "LogAppendTime"}, Meaning: "Whose clock stamps records."},
	{Name: "min.cleanable.dirty.ratio", Type: Double, Default: "0.5", Scope: TopicScope, Min: 0, Max: 1, Meaning: "When compaction starts" + kept + "."},
	{Name: "min.compaction.lag.ms", Type: Long, Default: "0", Scope: TopicScope, Min: 0, Max: maxLong, Meaning: "Shortest time before a record is compacted" + kept + "."},
	{Name: "min.insync.replicas", Type: Int, Scope: TopicScope | BrokerScope, Min: 1, Max: maxInt, Meaning: "In-sync replicas that acks=all needs; without it max(1, RF-1), and never more than RF."},
	{Name: "mirror.replication.throttled.rate", Type: Long, Default: "9223372036854775807", Scope: BrokerScope, Min: 1, Max: maxLong, Meaning: "Bytes per second that each broker reads from the sources of mirrors for the partitions it leads; SYNC topics included, whose producers wait for what is held back. A mirror may set one for all it reads. Floors and claims are not throttled."},
	{Name: "mirror.replication.throttled.replicas", Type: List, Scope: TopicScope, Meaning: "Replicas whose mirror fetches are throttled; the rate counts for all of them" + kept + "."},
	{Name: "mirror.support.unclean.leader.election", Type: Boolean, Default: "false", Scope: TopicScope, Meaning: "A mirror of this topic follows its source through an unclean election, even below what it had confirmed."},
	{Name: "mirror.sync.topic.demote.timeout.ms", Type: Long, Default: "30000", Scope: BrokerScope, Min: 100, Max: maxLong, Meaning: "How long every partition of a topic must be refused by its source before the topic is demoted; a mirror may set its own."},
	{Name: "mirror.sync.version", Type: Int, Default: "1", Scope: BrokerScope, Min: 0, Max: 1, Meaning: "0: no mirror is admitted to gate acknowledgements here. Those that gate already go on until they are released."},
	{Name: "mirror.version", Type: Int, Default: "1", Scope: BrokerScope, Min: 0, Max: 1, Meaning: "0: shown to peers as a cluster without mirroring, and no mirror is admitted to gate acknowledgements here."},
	{Name: "num.partitions", Type: Int, Default: "1", Scope: BrokerScope, Min: 1, Max: maxPartitions, Meaning: "Partitions of a topic that asks for -1."},
	{Name: "offset.metadata.max.bytes", Type: Int, Default: "4096", Scope: BrokerScope, Min: 0, Max: maxInt, Meaning: "The longest metadata a client may commit with an offset."},
	{Name: "offsets.retention.check.interval.ms", Type: Long, Default: "600000", Scope: BrokerScope, Min: 1, Max: maxLong, Meaning: "How often groups are looked through for offsets that nobody uses any more."},
	{Name: "offsets.retention.minutes", Type: Int, Default: "10080", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "How long offsets stay that nobody uses: their group is empty, or subscribes to other topics. Time while the process is down does not count."},
	{Name: "preallocate", Type: Boolean, Default: "false", Scope: TopicScope, Meaning: "Preallocate files" + kept + "."},
	{Name: "retention.bytes", Type: Long, Default: "-1", Scope: TopicScope, Min: -1, Max: maxLong, Meaning: "Size of a partition above which its oldest records go; -1: no limit."},
	{Name: "retention.ms", Type: Long, Default: "604800000", Scope: TopicScope, Min: -1, Max: maxLong, Meaning: "Age at which records go; -1: never."},
	{Name: "segment.bytes", Type: Int, Default: "1073741824", Scope: TopicScope, Min: 14, Max: maxInt, Meaning: "Segments belong to volumes here, see --segment-bytes" + kept + "."},
	{Name: "segment.index.bytes", Type: Int, Default: "10485760", Scope: TopicScope, Min: 4, Max: maxInt, Meaning: "Size of an index" + kept + "."},
	{Name: "segment.jitter.ms", Type: Long, Default: "0", Scope: TopicScope, Min: 0, Max: maxLong, Meaning: "Jitter of the time a segment is rolled" + kept + "."},
	{Name: "segment.ms", Type: Long, Default: "604800000", Scope: TopicScope, Min: 1, Max: maxLong, Meaning: "Age at which a segment is rolled" + kept + "."},
	{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", Scope: TopicScope, Meaning: "Lets a replica outside the ISR lead when no member can: acknowledged records may be lost."},
	{Name: "unstable.api.versions.enable", Type: Boolean, Default: "true", Scope: BrokerScope, Meaning: "false: nothing of the mirroring APIs is shown or served, and no mirror is admitted to gate acknowledgements here."},
	{Name: "unstable.feature.versions.enable", Type: Boolean, Default: "true", Scope: BrokerScope, Meaning: "false: the features mirror.version and mirror.sync.version are not shown, and no mirror is admitted to gate acknowledgements here."},
}
