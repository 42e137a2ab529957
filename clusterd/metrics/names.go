package metrics

// Name is one metric under the name by which the KIP, its base or Apache Kafka has it in JMX, and under ours. A Go
// process has no JMX; boards and alerts are written with the second.
type Name struct {
	JMX        string // "" where only we have it
	Prometheus string
	Labels     string // as documented, comma separated
	// Needs says what must be there for the metric to have a series: zero never means unknown.
	Needs string
}

const (
	always       = "always"
	gatedTopic   = "a topic that a mirror gates or gated"
	registration = "a registered mirror"
	mirroring    = "a mirror with a topic, its source heard lately"
	mirrorExists = "a mirror"
	// ListenerWithTLS is what not every cluster has.
	ListenerWithTLS = "a listener with TLS"
)

// Names are all metrics that are promised: a test of two running clusters finds each of them.
var Names = []Name{
	// The draft's source side.
	{"kafka.server:MirrorSyncReplicationLatencyMs", prefix + "sync_replication_latency_ms", "mirror,topic", gatedTopic},
	{"", prefix + "ack_stage_ms", "stage", always},
	{"", prefix + "acks_total", "mode", always},
	{"", prefix + "unprotected_acks_total", "", always},
	{"", prefix + "registered_topics", "mirror", registration},
	{"", prefix + "released_topics", "mirror", registration},
	{"", prefix + "leaving_topics", "mirror", registration},
	{"", prefix + "gate_held_by", "mirror", registration},
	{"", prefix + "gate_under_min_isr", "mirror", registration},
	{"", prefix + "gate_unknown", "mirror", registration},
	// The draft's destination side.
	{"kafka.server:SyncRegistrationRejected", prefix + "sync_registration_rejected_total", "mirror,reason", mirrorExists},
	{"kafka.server:SyncPartitionFetchFailures", prefix + "sync_partition_fetch_failures_total", "mirror,topic,partition,reason", "a mirror with a topic"},
	{"kafka.server:SyncPartitionsFailing", prefix + "sync_partitions_failing", "mirror,topic", mirroring + ", for every partition"},
	// The base KIP.
	{"kafka.server.mirror:MirrorTopicCount", prefix + "topics", "mirror,phase", mirrorExists},
	{"kafka.server.mirror:*PartitionState", prefix + "partitions", "mirror,state", "a mirror with a topic"},
	{"kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=MirrorReplica", prefix + "lag_offsets", "mirror,topic,partition", mirroring},
	{"kafka.server.mirror:TopicMetadataRefreshError", prefix + "task_last_success_age_seconds", "mirror,task", "a mirror with a topic"},
	{"", prefix + "lag_seconds", "mirror,topic,partition", mirroring},
	{"", prefix + "lag_bytes", "mirror,topic,partition", mirroring},
	{"", prefix + "topic_desired_sync", "mirror,topic", "a mirror with a topic"},
	{"", prefix + "topic_effective_sync", "mirror,topic", "a mirror with a topic"},
	{"", prefix + "rpo_seconds", "mirror,topic", "a topic that was SYNC once"},
	{"", prefix + "described", "mirror", mirrorExists},
	// Apache Kafka.
	{"kafka.server:type=ReplicaManager,name=PartitionCount", replicaManager + "partitioncount", "broker", always},
	{"kafka.server:type=ReplicaManager,name=LeaderCount", replicaManager + "leadercount", "broker", always},
	{"kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions", replicaManager + "underreplicatedpartitions", "broker", always},
	{"kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount", replicaManager + "underminisrpartitioncount", "broker", always},
	{"kafka.server:type=ReplicaManager,name=AtMinIsrPartitionCount", replicaManager + "atminisrpartitioncount", "broker", always},
	{"kafka.server:type=ReplicaManager,name=OfflineReplicaCount", replicaManager + "offlinereplicacount", "broker", always},
	{"kafka.server:type=ReplicaManager,name=IsrShrinksPerSec", replicaManager + "isrshrinks_total", "", always},
	{"kafka.server:type=ReplicaManager,name=IsrExpandsPerSec", replicaManager + "isrexpands_total", "", always},
	{"kafka.controller:type=KafkaController,name=ActiveControllerCount", controllerName + "activecontrollercount", "", always},
	{"kafka.controller:type=KafkaController,name=OfflinePartitionsCount", controllerName + "offlinepartitionscount", "", always},
	{"kafka.controller:type=KafkaController,name=GlobalTopicCount", controllerName + "globaltopiccount", "", always},
	{"kafka.controller:type=KafkaController,name=GlobalPartitionCount", controllerName + "globalpartitioncount", "", always},
	{"kafka.controller:type=KafkaController,name=FencedBrokerCount", controllerName + "fencedbrokercount", "", always},
	{"kafka.controller:type=ControllerStats,name=LeaderElectionRateAndTimeMs", "kafka_controller_controllerstats_leaderelections_total", "", always},
	{"kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec", "kafka_controller_controllerstats_uncleanleaderelections_total", "", always},
	{"kafka.log:type=LogManager,name=OfflineLogDirectoryCount", "kafka_log_logmanager_offlinelogdirectorycount", "broker", always},
	{"kafka.log:type=Log,name=LogEndOffset", "kafka_log_log_logendoffset", "topic,partition", "a partition with a leader"},
	{"kafka.log:type=Log,name=LogStartOffset", "kafka_log_log_logstartoffset", "topic,partition", "a partition with a leader"},
	{"", "kafka_cluster_partition_highwatermark", "topic,partition", "a partition with a leader"},
	{"kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec", topicMetrics + "messagesin_total", "topic", "a topic that was written or read"},
	{"kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec", topicMetrics + "bytesin_total", "topic", "a topic that was written or read"},
	{"kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec", topicMetrics + "bytesout_total", "topic", "a topic that was written or read"},
	{"kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesOutPerSec", topicMetrics + "replicationbytesout_total", "topic", "a topic that was written or read"},
	{"kafka.server:type=BrokerTopicMetrics,name=FailedProduceRequestsPerSec", topicMetrics + "failedproducerequests_total", "", always},
	{"kafka.server:type=BrokerTopicMetrics,name=FailedFetchRequestsPerSec", topicMetrics + "failedfetchrequests_total", "", always},
	{"kafka.network:type=RequestMetrics,name=RequestsPerSec", "kafka_network_requestmetrics_requests_total", "request", always},
	{"kafka.network:type=RequestMetrics,name=TotalTimeMs", "kafka_network_requestmetrics_totaltimems", "request", always},
	{"kafka.network:type=RequestMetrics,name=ErrorsPerSec", "kafka_network_requestmetrics_errors_total", "request,error", "a Produce or Fetch that was answered with it"},
	{"kafka.server:type=socket-server-metrics,name=connection-count", socketServer + "connection_count", "broker", always},
	{"kafka.server:type=socket-server-metrics,name=successful-authentication-total", socketServer + "successful_authentication_total", "listener", always},
	{"kafka.server:type=socket-server-metrics,name=failed-authentication-total", socketServer + "failed_authentication_total", "listener", always},
	{"kafka.server:type=socket-server-metrics,name=successful-reauthentication-total", socketServer + "successful_reauthentication_total", "listener", always},
	{"kafka.server:type=socket-server-metrics,name=failed-reauthentication-total", socketServer + "failed_reauthentication_total", "listener", always},
	{"kafka.server:type=socket-server-metrics,name=expired-connections-killed-count", socketServer + "expired_connections_killed_total", "listener", always},
	{"", "kafka_server_listener_certificate_expires_seconds", "listener", ListenerWithTLS},
	{"kafka.server:type=FetchSessionCache,name=NumIncrementalFetchSessions", "kafka_server_fetchsessioncache_numincrementalfetchsessions", "broker", always},
	{"kafka.server:type=FetchSessionCache,name=NumIncrementalFetchPartitionsCached", "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached", "broker", always},
	{"kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec", "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total", "broker", always},
	{"", "kafka_server_broker_live", "broker", always},
	{"", "kafka_server_broker_lossy", "broker", always},
}
