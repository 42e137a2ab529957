package controller

import (
	"math"

	"lockstep/actors/core/access"
)

const (
	maxInt  = 1<<31 - 1
	maxLong = float64(1 << 63)
)

const kept = " (kept and shown, not acted on)"

// hour and minute in milliseconds, the unit of settings of topics.
const (
	minute = 60_000
	hour   = 60 * minute
)

// Settings is the one table of topic and cluster settings, sorted by name. Names, types, defaults and
// ranges are Kafka's; our own begin with "lockstep.".
var Settings = withDefaults([]Setting{
	{Name: access.AllowIfNoACL, Type: Boolean, Default: "false", Scope: BrokerScope, Meaning: "Whether a resource that no ACL speaks of is open to everybody, where there is an authorizer."},
	{Name: access.AuthorizerClass, Type: String, Scope: BrokerScope, Allowed: []string{"", access.StandardAuthorizer}, Meaning: "With it clients may do what ACLs allow, as judged by Kafka's StandardAuthorizer; without it everybody may do everything."},
	{Name: "auto.create.topics.enable", Type: Boolean, Default: "true", Scope: BrokerScope, Meaning: "A produce or a metadata request makes a missing topic."},
	{Name: "background.threads", Type: Int, Default: "10", Scope: BrokerScope | DynamicScope, Min: 1, Max: maxInt, Meaning: "Threads come and go by themselves here" + kept + "."},
	{Name: "cleanup.policy", Type: List, Default: "delete", Scope: TopicScope, Allowed: []string{"delete", "compact"}, Defaults: []Synonym{{Name: "log.cleanup.policy"}}, Meaning: "How old records go away: delete by retention, compact when there is a newer one of the same key, or both. Records without a key, of before a topic was compacted, are not compacted. Every replica compacts its own log, mirrors too."},
	{Name: "compression.gzip.level", Type: Int, Default: "-1", Scope: TopicScope | BrokerScope | DynamicScope, Min: -1, Max: 9, Meaning: "Batches stay as the producer compressed them" + kept + "."},
	{Name: "compression.lz4.level", Type: Int, Default: "9", Scope: TopicScope | BrokerScope | DynamicScope, Min: 1, Max: 17, Meaning: "Batches stay as the producer compressed them" + kept + "."},
	{Name: "compression.type", Type: String, Default: "producer", Scope: TopicScope | BrokerScope | DynamicScope, Allowed: []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}, Meaning: "Batches stay as the producer compressed them, whatever is set" + kept + "."},
	{Name: "compression.zstd.level", Type: Int, Default: "3", Scope: TopicScope | BrokerScope | DynamicScope, Min: -131072, Max: 22, Meaning: "Batches stay as the producer compressed them" + kept + "."},
	{Name: "connections.max.idle.ms", Type: Long, Default: "600000", Scope: BrokerScope, Min: -1, Max: maxLong, Meaning: "How long a connection may be silent before it is closed; one that waits for an answer is not silent. -1: for ever."},
	{Name: "default.replication.factor", Type: Int, Scope: BrokerScope, Min: 1, Max: 32767, Meaning: "Replicas of a topic that asks for -1; without it min(3, brokers)."},
	{Name: "delete.retention.ms", Type: Long, Default: "86400000", Scope: TopicScope, Min: 0, Max: maxLong, Defaults: []Synonym{{Name: "log.cleaner.delete.retention.ms"}}, Meaning: "How long tombstones stay, and markers of transactions of which nothing is left, from the first time that compaction meets them. They go up to an eighth of it later, and not before every replica and every registered mirror has them."},
	{Name: "fetch.max.bytes", Type: Int, Default: "57671680", Scope: BrokerScope, Min: 1024, Max: maxInt, Meaning: "The most bytes of records that one fetch is answered with, whatever it asks for; a first batch that is larger goes out whole."},
	{Name: "file.delete.delay.ms", Type: Long, Default: "60000", Scope: TopicScope, Min: 0, Max: maxLong, Defaults: []Synonym{{Name: "log.segment.delete.delay.ms"}}, Meaning: "Space comes back when segments of the volume are cleaned, within a minute" + kept + "."},
	{Name: "flush.messages", Type: Long, Default: "9223372036854775807", Scope: TopicScope, Min: 1, Max: maxLong, Defaults: []Synonym{{Name: "log.flush.interval.messages"}}, Meaning: "Every acknowledged write is flushed anyway" + kept + "."},
	{Name: "flush.ms", Type: Long, Default: "9223372036854775807", Scope: TopicScope, Min: 0, Max: maxLong, Defaults: []Synonym{{Name: "log.flush.interval.ms"}, {Name: "log.flush.scheduler.interval.ms"}}, Meaning: "Every acknowledged write is flushed anyway" + kept + "."},
	{Name: "follower.replication.throttled.rate", Type: Long, Default: "9223372036854775807", Scope: BrokerScope | DynamicScope, Min: 0, Max: maxLong, Meaning: "Bytes per second that followers on this broker read of what they lack, for replicas that follower.replication.throttled.replicas of their topics names; replicas in sync are not throttled."},
	{Name: "follower.replication.throttled.replicas", Type: List, Scope: TopicScope, Meaning: "Replicas that follower.replication.throttled.rate of their brokers counts for, partition:broker separated by commas; *: all."},
	{Name: "group.consumer.heartbeat.interval.ms", Type: Int, Default: "5000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "How often members of the consumer protocol are told to be heard."},
	{Name: "group.consumer.max.heartbeat.interval.ms", Type: Int, Default: "15000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The most that a group may set as consumer.heartbeat.interval.ms."},
	{Name: "group.consumer.max.session.timeout.ms", Type: Int, Default: "60000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The most that a group may set as consumer.session.timeout.ms."},
	{Name: "group.consumer.max.size", Type: Int, Default: "2147483647", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "Members a group of the consumer protocol may have."},
	{Name: "group.consumer.migration.policy", Type: String, Default: "bidirectional", Scope: BrokerScope, Allowed: []string{"disabled", "upgrade", "downgrade", "bidirectional"}, Meaning: "Which way a group with members changes between the classic and the consumer protocol: with the first member that speaks the latter, and when the last one goes."},
	{Name: "group.consumer.min.heartbeat.interval.ms", Type: Int, Default: "5000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The least that a group may set as consumer.heartbeat.interval.ms."},
	{Name: "group.consumer.min.session.timeout.ms", Type: Int, Default: "45000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The least that a group may set as consumer.session.timeout.ms."},
	{Name: "group.consumer.session.timeout.ms", Type: Int, Default: "45000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "How long a member of the consumer protocol may be silent before it loses its place."},
	{Name: "group.initial.rebalance.delay.ms", Type: Int, Default: "3000", Scope: BrokerScope, Min: 0, Max: maxInt, Meaning: "How long an empty group waits for more members before its first round."},
	{Name: "group.max.session.timeout.ms", Type: Int, Default: "1800000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The longest session a member may ask for."},
	{Name: "group.max.size", Type: Int, Default: "2147483647", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "Members a group may have."},
	{Name: "group.min.session.timeout.ms", Type: Int, Default: "6000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The shortest session a member may ask for."},
	{Name: "group.version", Type: Int, Default: "1", Scope: BrokerScope, Min: 0, Max: 1, Meaning: "0: heartbeats of the consumer protocol (KIP-848) are refused with UNSUPPORTED_VERSION; members go on with the classic one."},
	{Name: "index.interval.bytes", Type: Int, Default: "4096", Scope: TopicScope, Min: 0, Max: maxInt, Defaults: []Synonym{{Name: "log.index.interval.bytes"}}, Meaning: "Every batch is indexed" + kept + "."},
	{Name: "leader.replication.throttled.rate", Type: Long, Default: "9223372036854775807", Scope: BrokerScope | DynamicScope, Min: 0, Max: maxLong, Meaning: "Bytes per second that leaders on this broker give to followers of what these lack, for replicas that leader.replication.throttled.replicas of their topics names; replicas in sync are not throttled."},
	{Name: "leader.replication.throttled.replicas", Type: List, Scope: TopicScope, Meaning: "Replicas that leader.replication.throttled.rate of their brokers counts for while they lead, partition:broker separated by commas; *: all."},
	{Name: "local.retention.bytes", Type: Long, Default: "-2", Scope: TopicScope, Min: -2, Max: maxLong, Defaults: []Synonym{{Name: "log.local.retention.bytes"}}, Meaning: "There is no remote storage, all that retention.bytes keeps is local" + kept + "."},
	{Name: "local.retention.ms", Type: Long, Default: "-2", Scope: TopicScope, Min: -2, Max: maxLong, Defaults: []Synonym{{Name: "log.local.retention.ms"}}, Meaning: "There is no remote storage, all that retention.ms keeps is local" + kept + "."},
	{Name: "lockstep.claim.lease.ms", Type: Long, Default: "10000", Scope: BrokerScope, Min: 300, Max: 3600000, Meaning: "How long a mirror's claim stands without a new confirmation by its source; a mirror may set its own."},
	{Name: "lockstep.group.member.max.bytes", Type: Int, Default: "1048576", Scope: BrokerScope, Min: 1024, Max: maxInt, Meaning: "What the protocols of one group member may take, names and subscriptions together."},
	{Name: "lockstep.group.shard.max.bytes", Type: Long, Default: "33554432", Scope: BrokerScope, Min: 65536, Max: maxLong, Meaning: "Memory that each of the 16 shards of consumer groups may take for members, and again for groups with their offsets."},
	{Name: "lockstep.ledger", Type: String, Default: "evidence", Scope: TopicScope, Allowed: []string{"evidence", "strict"}, Meaning: "strict: an ack waits until the ledger entry that released it is on disk. evidence: it does not, and an audit may say UNKNOWN of the last ones before a crash."},
	{Name: "lockstep.metrics.partitions.max", Type: Int, Default: "10000", Scope: BrokerScope, Min: 0, Max: 2147483647, Meaning: "Clusters with more partitions show no metrics of single partitions; 0: never."},
	{Name: "lockstep.release.after.lease", Type: Boolean, Default: "false", Scope: BrokerScope, Meaning: "Every release of a mirror withholds acks until the destination has heard of it or lockstep.claim.lease.ms is over, and evidence promises so: destinations may then call a confirmed topic zero RPO at this moment."},
	{Name: "lockstep.superseded.rebootstrap", Type: Boolean, Default: "false", Scope: BrokerScope, Meaning: "Clients that ask only for topics another cluster has taken over are told to go back to their bootstrap servers (KIP-1102). Consumer groups find no offsets there."},
	{Name: "lockstep.switchover.timeout.ms", Type: Long, Default: "30000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "How long a switchover may keep a topic's producers waiting at its source before it is given up."},
	{Name: "lockstep.sync.min.class", Type: String, Default: "reported", Scope: TopicScope, Allowed: []string{"reported", "proven"}, Meaning: "What may make the topic SYNC: reported admits peers that speak only the KIP, proven refuses them. Also a setting of a mirror."},
	{Name: "lockstep.transaction.shard.max.bytes", Type: Long, Default: "33554432", Scope: BrokerScope, Min: 65536, Max: maxLong, Meaning: "Memory that each of the 16 shards of the transaction coordinator may take for transactional ids and open transactions."},
	{Name: "lockstep.weak.acks", Type: String, Default: "allow", Scope: TopicScope, Allowed: []string{"allow", "refuse", "upgrade"}, Meaning: "What acks=0 and acks=1 meet on a topic that a mirror gates: allow counts and shows them, refuse answers INVALID_REQUIRED_ACKS, upgrade waits as for acks=all."},
	{Name: "log.cleaner.backoff.ms", Type: Long, Default: "15000", Scope: BrokerScope | DynamicScope, Min: 0, Max: maxLong, Meaning: "How often logs are looked through for what compaction lets go."},
	{Name: "log.cleaner.dedupe.buffer.size", Type: Long, Default: "134217728", Scope: BrokerScope | DynamicScope, Min: 0, Max: maxLong, Meaning: "Memory that compaction may take for keys. One log of the process is compacted at a time; each key takes 128 bytes, and a log with more is compacted in several passes."},
	{Name: "log.cleaner.io.buffer.load.factor", Type: Double, Default: "0.9", Scope: BrokerScope | DynamicScope, Min: 0, Max: 1, Meaning: "How full the memory of a compaction may be" + kept + "."},
	{Name: "log.cleaner.io.buffer.size", Type: Int, Default: "524288", Scope: BrokerScope | DynamicScope, Min: 0, Max: maxInt, Meaning: "Memory for what a compaction reads and writes" + kept + "."},
	{Name: "log.cleaner.io.max.bytes.per.second", Type: Double, Default: "1.7976931348623157E308", Scope: BrokerScope | DynamicScope, Min: 0, Max: math.MaxFloat64, Meaning: "How fast a compaction may read and write" + kept + "."},
	{Name: "log.cleaner.threads", Type: Int, Default: "1", Scope: BrokerScope | DynamicScope, Min: 0, Max: maxInt, Meaning: "One log of the process is compacted at a time" + kept + "."},
	{Name: "log.retention.check.interval.ms", Type: Long, Default: "300000", Scope: BrokerScope, Min: 1, Max: maxLong, Meaning: "How often logs are looked through for what retention.ms and retention.bytes let go."},
	{Name: "max.compaction.lag.ms", Type: Long, Default: "9223372036854775807", Scope: TopicScope, Min: 1, Max: maxLong, Defaults: []Synonym{{Name: "log.cleaner.max.compaction.lag.ms"}}, Meaning: "After that time a record is compacted whatever min.cleanable.dirty.ratio says, also in the newest segment."},
	{Name: "max.connection.creation.rate", Type: Int, Default: "2147483647", Scope: BrokerScope | DynamicScope, Min: 1, Max: maxInt, Meaning: "New connections per second that each broker accepts; more wait to be accepted."},
	{Name: "max.connections", Type: Int, Default: "2147483647", Scope: BrokerScope | DynamicScope, Min: 1, Max: maxInt, Meaning: "Connections that each broker has at once, those of mirrors and tools included; more wait to be accepted until others end."},
	{Name: "max.connections.per.ip", Type: Int, Default: "2147483647", Scope: BrokerScope | DynamicScope, Min: 0, Max: maxInt, Meaning: "Connections that each broker has from one address at once; more are closed."},
	{Name: "max.connections.per.ip.overrides", Type: String, Scope: BrokerScope | DynamicScope, Meaning: "Other numbers for single addresses: address:number, separated by commas."},
	{Name: "max.incremental.fetch.session.cache.slots", Type: Int, Default: "1000", Scope: BrokerScope, Min: 0, Max: maxInt, Meaning: "Incremental fetch sessions that each broker keeps; consumers beyond that name all they read in every fetch."},
	{Name: "max.message.bytes", Type: Int, Default: "1048588", Scope: TopicScope, Min: 0, Max: maxInt, Defaults: []Synonym{{Name: "message.max.bytes"}}, Meaning: "The largest record batch a client may write; batches that a mirror copies may be larger."},
	{Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000", Scope: TopicScope, Min: 0, Max: maxLong, Defaults: []Synonym{{Name: "log.message.timestamp.after.max.ms"}}, Meaning: "How far in the future a record's time may lie."},
	{Name: "message.timestamp.before.max.ms", Type: Long, Default: "9223372036854775807", Scope: TopicScope, Min: 0, Max: maxLong, Defaults: []Synonym{{Name: "log.message.timestamp.before.max.ms"}}, Meaning: "How far in the past a record's time may lie."},
	{Name: "message.timestamp.type", Type: String, Default: "CreateTime", Scope: TopicScope, Allowed: []string{"CreateTime", "LogAppendTime"}, Defaults: []Synonym{{Name: "log.message.timestamp.type"}}, Meaning: "Whose clock stamps records."},
	{Name: "metric.reporters", Type: List, Scope: BrokerScope | DynamicScope, Meaning: "There are no classes to load; metrics are served by HTTP" + kept + "."},
	{Name: "min.cleanable.dirty.ratio", Type: Double, Default: "0.5", Scope: TopicScope, Min: 0, Max: 1, Defaults: []Synonym{{Name: "log.cleaner.min.cleanable.ratio"}}, Meaning: "Share of a log that compaction has yet to look at from which on it does, in bytes of segments. The newest segment does not count."},
	{Name: "min.compaction.lag.ms", Type: Long, Default: "0", Scope: TopicScope, Min: 0, Max: maxLong, Defaults: []Synonym{{Name: "log.cleaner.min.compaction.lag.ms"}}, Meaning: "How long a record is not compacted, by the largest timestamp of its segment. The newest segment is never compacted before max.compaction.lag.ms."},
	{Name: "min.insync.replicas", Type: Int, Scope: TopicScope | BrokerScope | ClusterScope, Min: 1, Max: maxInt, Meaning: "In-sync replicas that acks=all needs; without it max(1, RF-1), and never more than RF."},
	{Name: "mirror.replication.throttled.rate", Type: Long, Default: "9223372036854775807", Scope: BrokerScope, Min: 1, Max: maxLong, Meaning: "Bytes per second that each broker reads from the sources of mirrors for the partitions it leads; SYNC topics included, whose producers wait for what is held back. A mirror may set one for all it reads. Floors and claims are not throttled."},
	{Name: "mirror.replication.throttled.replicas", Type: List, Scope: TopicScope, Meaning: "Replicas whose mirror fetches are throttled; the rate counts for all of them" + kept + "."},
	{Name: "mirror.support.unclean.leader.election", Type: Boolean, Default: "false", Scope: TopicScope, Meaning: "A mirror of this topic follows its source through an unclean election, even below what it had confirmed."},
	{Name: "mirror.sync.topic.demote.timeout.ms", Type: Long, Default: "30000", Scope: BrokerScope, Min: 100, Max: maxLong, Meaning: "How long every partition of a topic must be refused by its source before the topic is demoted; a mirror may set its own."},
	{Name: "mirror.sync.version", Type: Int, Default: "1", Scope: BrokerScope, Min: 0, Max: 1, Meaning: "0: no mirror is admitted to gate acknowledgements here. Those that gate already go on until they are released."},
	{Name: "mirror.version", Type: Int, Default: "1", Scope: BrokerScope, Min: 0, Max: 1, Meaning: "0: shown to peers as a cluster without mirroring, and no mirror is admitted to gate acknowledgements here."},
	{Name: "num.io.threads", Type: Int, Default: "8", Scope: BrokerScope | DynamicScope, Min: 1, Max: maxInt, Meaning: "Threads come and go by themselves here" + kept + "."},
	{Name: "num.network.threads", Type: Int, Default: "3", Scope: BrokerScope | DynamicScope, Min: 1, Max: maxInt, Meaning: "Threads come and go by themselves here" + kept + "."},
	{Name: "num.partitions", Type: Int, Default: "1", Scope: BrokerScope, Min: 1, Max: maxPartitions, Meaning: "Partitions of a topic that asks for -1."},
	{Name: "num.recovery.threads.per.data.dir", Type: Int, Default: "2", Scope: BrokerScope | DynamicScope, Min: 1, Max: maxInt, Meaning: "Threads come and go by themselves here" + kept + "."},
	{Name: "num.replica.fetchers", Type: Int, Default: "1", Scope: BrokerScope | DynamicScope, Min: 1, Max: maxInt, Meaning: "Leaders push to followers here" + kept + "."},
	{Name: "offset.metadata.max.bytes", Type: Int, Default: "4096", Scope: BrokerScope, Min: 0, Max: maxInt, Meaning: "The longest metadata a client may commit with an offset."},
	{Name: "offsets.retention.check.interval.ms", Type: Long, Default: "600000", Scope: BrokerScope, Min: 1, Max: maxLong, Meaning: "How often groups are looked through for offsets that nobody uses any more."},
	{Name: "offsets.retention.minutes", Type: Int, Default: "10080", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "How long offsets stay that nobody uses: their group is empty, or subscribes to other topics. Time while the process is down does not count."},
	{Name: "preallocate", Type: Boolean, Default: "false", Scope: TopicScope, Defaults: []Synonym{{Name: "log.preallocate"}}, Meaning: "Preallocate files" + kept + "."},
	{Name: "producer.id.expiration.check.interval.ms", Type: Int, Default: "600000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "How often logs are looked through for producers to forget."},
	{Name: "producer.id.expiration.ms", Type: Int, Default: "86400000", Scope: BrokerScope | DynamicScope, Min: 1, Max: maxInt, Meaning: "How long the leader of a partition remembers a producer that writes nothing, counted from its last batch or the leader's start; one whose transaction is open is not forgotten. A mirror forgets what its source has forgotten."},
	{Name: "remote.log.copy.disable", Type: Boolean, Default: "false", Scope: TopicScope, Meaning: "There is no remote storage to copy to" + kept + "."},
	{Name: "remote.log.delete.on.disable", Type: Boolean, Default: "false", Scope: TopicScope, Meaning: "There is no remote storage to delete from" + kept + "."},
	{Name: "remote.storage.enable", Type: Boolean, Default: "false", Scope: TopicScope, Allowed: []string{"false"}, Meaning: "There is no remote storage: true is refused, as by a Kafka whose remote.log.storage.system.enable is false."},
	{Name: "replica.alter.log.dirs.io.max.bytes.per.second", Type: Double, Default: "1.7976931348623157E308", Scope: BrokerScope | DynamicScope, Min: 0, Max: math.MaxFloat64, Meaning: "A broker has one directory, nothing moves between two" + kept + "."},
	{Name: "retention.bytes", Type: Long, Default: "-1", Scope: TopicScope, Min: -1, Max: maxLong, Defaults: []Synonym{{Name: "log.retention.bytes"}}, Meaning: "Size of a partition above which its oldest segments go; -1: no limit. Never above HW, nor what a registered mirror has yet to get; mirrors follow their source instead."},
	{Name: "retention.ms", Type: Long, Default: "604800000", Scope: TopicScope, Min: -1, Max: maxLong, Defaults: []Synonym{{Name: "log.retention.ms"}, {Name: "log.retention.minutes", Factor: minute}, {Name: "log.retention.hours", Factor: hour}}, Meaning: "Age by its largest timestamp at which a segment goes; -1: never. Never above HW, nor what a registered mirror has yet to get; mirrors follow their source instead."},
	{Name: "segment.bytes", Type: Int, Default: "1073741824", Scope: TopicScope, Min: 14, Max: maxInt, Defaults: []Synonym{{Name: "log.segment.bytes"}}, Meaning: "How much of a partition goes, or is compacted, at once. Files hold many partitions here, see --segment-bytes."},
	{Name: "segment.index.bytes", Type: Int, Default: "10485760", Scope: TopicScope, Min: 4, Max: maxInt, Defaults: []Synonym{{Name: "log.index.size.max.bytes"}}, Meaning: "Size of an index" + kept + "."},
	{Name: "segment.jitter.ms", Type: Long, Default: "0", Scope: TopicScope, Min: 0, Max: maxLong, Defaults: []Synonym{{Name: "log.roll.jitter.ms"}, {Name: "log.roll.jitter.hours", Factor: hour}}, Meaning: "Jitter of the time a segment is rolled" + kept + "."},
	{Name: "segment.ms", Type: Long, Default: "604800000", Scope: TopicScope, Min: 1, Max: maxLong, Defaults: []Synonym{{Name: "log.roll.ms"}, {Name: "log.roll.hours", Factor: hour}}, Meaning: "How many milliseconds of a partition go, or are compacted, at once, by timestamps."},
	{Name: "socket.request.max.bytes", Type: Int, Default: "104857600", Scope: BrokerScope, Min: 1024, Max: maxInt, Meaning: "The largest request that is read; the connection of a larger one is closed. Other requests than Produce have smaller bounds of their own."},
	{Name: access.SuperUsers, Type: String, Scope: BrokerScope, Meaning: "Principals that may do everything where there is an authorizer, whatever ACLs say: type:name, with a semicolon between two."},
	{Name: "transaction.max.timeout.ms", Type: Int, Default: "900000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "The longest time a producer may ask to keep a transaction open."},
	{Name: "transaction.partition.verification.enable", Type: Boolean, Default: "true", Scope: BrokerScope | DynamicScope, Meaning: "Batches of transactions are always verified" + kept + "."},
	{Name: "transaction.version", Type: Int, Default: "2", Scope: BrokerScope, Min: 0, Max: 2, Meaning: "Below 2: clients are not told of transaction version 2, which raises the producer epoch with each transaction (KIP-890)."},
	{Name: "transactional.id.expiration.ms", Type: Int, Default: "604800000", Scope: BrokerScope, Min: 1, Max: maxInt, Meaning: "How long an unused transactional id is remembered, counted from its last use or the start of the process."},
	{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", Scope: TopicScope | BrokerScope | ClusterScope, Meaning: "Lets a replica outside the ISR lead when no member can: acknowledged records may be lost."},
	{Name: "unstable.api.versions.enable", Type: Boolean, Default: "true", Scope: BrokerScope, Meaning: "false: nothing of the mirroring APIs is shown or served, and no mirror is admitted to gate acknowledgements here."},
	{Name: "unstable.feature.versions.enable", Type: Boolean, Default: "true", Scope: BrokerScope, Meaning: "false: the features mirror.version and mirror.sync.version are not shown, and no mirror is admitted to gate acknowledgements here."},
})
