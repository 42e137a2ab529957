package suites

const (
	bootstrap = "--bootstrap-server BROKERS "
	groups    = "consumer.group.ConsumerGroupCommand"
	reassign  = "reassign.ReassignPartitionsCommand"
	configs   = "kafka.admin.ConfigCommand"
	all       = `{"version":1,"partitions":[{"topic":"v","partition":0,"replicas":[ALL]}]}`
)

var javaUses = []use{
	{name: "topics create", class: "TopicCommand", args: bootstrap + "--create --topic tools --partitions 3 --replication-factor REPLICAS --config retention.ms=3600000", wants: []string{"Created topic tools."}},
	{name: "topics create if not exists", class: "TopicCommand", args: bootstrap + "--create --topic tools --if-not-exists"},
	{name: "topics create v", class: "TopicCommand", args: bootstrap + "--create --topic v --partitions 1", wants: []string{"Created topic v."}},
	{name: "topics list", class: "TopicCommand", args: bootstrap + "--list --exclude-internal", wants: []string{"tools\nv\n"}},
	{name: "topics describe", class: "TopicCommand", args: bootstrap + "--describe --topic tools", wants: []string{"PartitionCount: 3", "ReplicationFactor: REPLICAS", "retention.ms=3600000", "Partition: 2"}},
	{name: "topics describe under-replicated", class: "TopicCommand", args: bootstrap + "--describe --under-replicated-partitions", never: []string{"Topic: tools"}},
	{name: "topics describe unavailable", class: "TopicCommand", args: bootstrap + "--describe --unavailable-partitions", never: []string{"Topic: tools"}},
	{name: "topics alter", class: "TopicCommand", args: bootstrap + "--alter --topic tools --partitions 4"},
	{name: "topics describe altered", class: "TopicCommand", args: bootstrap + "--describe --topic tools", wants: []string{"PartitionCount: 4"}},

	{name: "configs alter topic", class: configs, args: bootstrap + "--alter --entity-type topics --entity-name tools --add-config max.message.bytes=65536,cleanup.policy=delete", wants: []string{"Completed updating config for topic tools."}},
	{name: "configs describe topic", class: configs, args: bootstrap + "--describe --entity-type topics --entity-name tools", wants: []string{"max.message.bytes=65536", "DYNAMIC_TOPIC_CONFIG"}},
	{name: "configs describe topic all", class: configs, args: bootstrap + "--describe --all --entity-type topics --entity-name tools", wants: []string{"min.insync.replicas=", "segment.bytes="}},
	{name: "configs delete topic", class: configs, args: bootstrap + "--alter --entity-type topics --entity-name tools --delete-config max.message.bytes", wants: []string{"Completed updating config for topic tools."}},
	{name: "configs refuse", class: configs, args: bootstrap + "--alter --entity-type topics --entity-name tools --add-config no.such.setting=1", refused: "no.such.setting"},
	{name: "configs describe broker", class: configs, args: bootstrap + "--describe --all --entity-type brokers --entity-name 1", wants: []string{"log.retention.hours", "num.partitions="}},
	{name: "configs alter broker", class: configs, args: bootstrap + "--alter --entity-type brokers --entity-name 1 --add-config log.cleaner.backoff.ms=15001", wants: []string{"Completed updating config for broker 1."}},
	{name: "configs alter brokers", class: configs, args: bootstrap + "--alter --entity-type brokers --entity-default --add-config log.retention.ms=86400000", wants: []string{"Completed updating default config for brokers in the cluster."}},
	{name: "configs describe dynamic broker", class: configs, args: bootstrap + "--describe --entity-type brokers --entity-name 1", wants: []string{"log.cleaner.backoff.ms=15001", "DYNAMIC_BROKER_CONFIG:log.cleaner.backoff.ms=15001, DEFAULT_CONFIG:log.cleaner.backoff.ms=15000"}},
	{name: "configs describe brokers", class: configs, args: bootstrap + "--describe --entity-type brokers --entity-default", wants: []string{"log.retention.ms=86400000", "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=86400000"}, never: []string{"log.cleaner.backoff.ms"}},
	{name: "configs delete broker", class: configs, args: bootstrap + "--alter --entity-type brokers --entity-default --delete-config log.retention.ms", wants: []string{"Completed updating default config for brokers in the cluster."}},
	{name: "configs refuse broker", class: configs, args: bootstrap + "--alter --entity-type brokers --entity-name 1 --add-config num.partitions=3", refused: "num.partitions"},
	{name: "configs alter group", class: configs, args: bootstrap + "--alter --entity-type groups --entity-name tools-group --add-config consumer.session.timeout.ms=50000", wants: []string{"Completed updating config for group tools-group."}},
	{name: "configs describe group", class: configs, args: bootstrap + "--describe --entity-type groups --entity-name tools-group", wants: []string{"consumer.session.timeout.ms=50000"}},
	{name: "configs quota", class: configs, args: bootstrap + "--alter --entity-type clients --entity-name tools-client --add-config producer_byte_rate=104857600", wants: []string{"Completed updating config for client tools-client."}},

	{name: "producer-perf-test", class: "ProducerPerformance", args: "--topic tools --num-records 5000 --record-size 100 --throughput -1 --producer-props bootstrap.servers=BROKERS acks=all", wants: []string{"5000 records sent"}},
	{name: "producer-perf-test transactional", class: "ProducerPerformance", args: "--topic tools --num-records 1000 --record-size 100 --throughput -1 --transactional-id perf --transaction-duration-ms 200 --producer-props bootstrap.servers=BROKERS acks=all", wants: []string{"1000 records sent"}},
	{name: "consumer-perf-test", class: "ConsumerPerformance", args: bootstrap + "--topic tools --messages 5000 --group perf-group --timeout 60000", wants: []string{", 5"}},
	{name: "end-to-end latency", class: "EndToEndLatency", args: "--bootstrap-server BROKERS --topic v --num-records 20 --producer-acks all --record-size 50", wants: []string{"Avg latency"}},
	{name: "verifiable producer", class: "VerifiableProducer", args: "--bootstrap-server BROKERS --topic v --max-messages 1000 --acks -1", wants: []string{`"sent":1000`, `"acked":1000`, "shutdown_complete"}, never: []string{"producer_send_error"}},
	{name: "verifiable consumer", class: "VerifiableConsumer", args: "--bootstrap-server BROKERS --topic v --group-id g --max-messages 1000 --reset-policy earliest", wants: []string{"partitions_assigned", "offsets_committed", "shutdown_complete"}},
	{name: "verifiable consumer of the new protocol", class: "VerifiableConsumer", args: "--bootstrap-server BROKERS --topic v --group-id g848 --group-protocol consumer --max-messages 1000 --reset-policy earliest", wants: []string{"partitions_assigned", "offsets_committed", "shutdown_complete"}},
	{name: "console producer", class: "ConsoleProducer", args: bootstrap + "--topic v", input: "a line for the console\n"},
	{name: "console consumer", class: "consumer.ConsoleConsumer", args: bootstrap + "--topic v --from-beginning --max-messages 1021 --timeout-ms 30000", wants: []string{"a line for the console"}},
	{name: "transactional message copier", class: "TransactionalMessageCopier", args: "--broker-list BROKERS --input-topic v --input-partition 0 --output-topic tools --transactional-id copier --consumer-group copier-group --max-messages 500 --transaction-size 50", wants: []string{`"consumed":500`}},

	{name: "get-offsets", class: "GetOffsetShell", args: bootstrap + "--topic v", wants: []string{"v:0:1021"}},
	{name: "get-offsets earliest", class: "GetOffsetShell", args: bootstrap + "--topic tools --time earliest", wants: []string{"tools:3:0"}},
	{name: "get-offsets max timestamp", class: "GetOffsetShell", args: bootstrap + "--topic v --time max-timestamp", wants: []string{"v:0:1020"}},
	{name: "get-offsets by partition", class: "GetOffsetShell", args: bootstrap + "--topic-partitions v:0", seen: offsetsSum("v", 1021)},

	{name: "consumer-groups list", class: groups, args: bootstrap + "--list", wants: []string{"g\n", "g848\n", "perf-group\n"}},
	{name: "consumer-groups list by state", class: groups, args: bootstrap + "--list --state empty", wants: []string{"g", "Empty"}},
	{name: "consumer-groups describe", class: groups, args: bootstrap + "--describe --group g --offsets", wants: []string{"LAG", "v", "1000"}},
	{name: "consumer-groups describe all", class: groups, args: bootstrap + "--describe --all-groups --offsets", wants: []string{"g848", "perf-group"}},
	{name: "consumer-groups state", class: groups, args: bootstrap + "--describe --group g --state", wants: []string{"Empty"}},
	{name: "consumer-groups members", class: groups, args: bootstrap + "--describe --group g --members", wants: []string{"no active members"}},
	{name: "consumer-groups reset", class: groups, args: bootstrap + "--reset-offsets --group g --topic v --to-earliest --execute", wants: []string{"v", "0"}},
	{name: "consumer-groups delete offsets", class: groups, args: bootstrap + "--delete-offsets --group g --topic v", wants: []string{"Successful"}},
	{name: "consumer-groups delete", class: groups, args: bootstrap + "--delete --group g", wants: []string{"Deletion of requested consumer groups ('g') was successful."}},
	{name: "groups list", class: "GroupsCommand", args: bootstrap + "--list", wants: []string{"g848", "Consumer"}},

	{name: "transactions list", class: "TransactionsCommand", args: bootstrap + "list", wants: []string{"copier", "CompleteCommit"}},
	{name: "transactions describe", class: "TransactionsCommand", args: bootstrap + "describe --transactional-id copier", wants: []string{"CompleteCommit"}},
	{name: "transactions describe producers", class: "TransactionsCommand", args: bootstrap + "describe-producers --topic tools --partition 0", wants: []string{"ProducerEpoch"}},
	{name: "transactions find hanging", class: "TransactionsCommand", args: bootstrap + "find-hanging --topic tools", never: []string{"copier"}},

	{name: "log-dirs", class: "LogDirsCommand", args: bootstrap + "--describe --topic-list tools", wants: []string{`"partition":"tools-0"`, `"error":null`}},
	{name: "reassign list", class: reassign, args: bootstrap + "--list"},
	{name: "reassign generate", class: reassign, args: bootstrap + "--generate --topics-to-move-json-file FILE --broker-list ALL", input: `{"version":1,"topics":[{"topic":"v"}]}`, wants: []string{"Proposed partition reassignment configuration"}},
	{name: "reassign execute", class: reassign, args: bootstrap + "--execute --reassignment-json-file FILE", input: all, wants: []string{"Successfully started partition reassignment"}},
	{name: "reassign verify", class: reassign, args: bootstrap + "--verify --reassignment-json-file FILE", input: all, wants: []string{"v-0 is completed"}},
	{name: "reassign execute throttled", class: reassign, args: bootstrap + "--execute --throttle 50000000 --reassignment-json-file FILE", input: all, wants: []string{"The inter-broker throttle limit was set to 50000000 B/s", "Successfully started partition reassignment"}},
	{name: "reassign verify throttled", class: reassign, args: bootstrap + "--verify --reassignment-json-file FILE", input: all, wants: []string{"v-0 is completed", "Clearing broker-level throttles", "Clearing topic-level throttles"}},
	{name: "leader-election", class: "LeaderElectionCommand", args: bootstrap + "--election-type preferred --all-topic-partitions"},
	{name: "delete-records", class: "DeleteRecordsCommand", args: bootstrap + "--offset-json-file FILE", input: `{"partitions":[{"topic":"v","partition":0,"offset":10}],"version":1}`, wants: []string{"low_watermark: 10"}},
	{name: "get-offsets after delete-records", class: "GetOffsetShell", args: bootstrap + "--topic v --time earliest", wants: []string{"v:0:10"}},

	{name: "features describe", class: "FeatureCommand", args: bootstrap + "describe", wants: []string{"metadata.version", "transaction.version"}},
	{name: "cluster id", class: "ClusterTool", args: "cluster-id " + bootstrap, wants: []string{"Cluster ID: "}},
	{name: "cluster endpoints", class: "ClusterTool", args: "list-endpoints " + bootstrap, wants: []string{"127.0.0.1"}},
	{name: "broker-api-versions", class: "BrokerApiVersionsCommand", args: bootstrap, wants: []string{"Produce(0)", "(id: 1 "}},
	{name: "metadata-quorum status", class: "MetadataQuorumCommand", args: bootstrap + "describe --status", wants: []string{"LeaderId:", "CurrentVoters:"}},
	{name: "metadata-quorum replication", class: "MetadataQuorumCommand", args: bootstrap + "describe --replication", wants: []string{"LogEndOffset", "Leader"}},
	{name: "client-metrics", class: "ClientMetricsCommand", args: bootstrap + "--list"},
	{name: "acls list", class: "AclCommand", args: bootstrap + "--list", refused: "SecurityDisabledException"},
	{name: "client compatibility test", class: "ClientCompatibilityTest", args: bootstrap + "--topic compat --offsets-for-times-supported true --cluster-id-supported true --expect-record-too-large-exception false --num-cluster-nodes NODES --create-topics-supported true --describe-acls-supported true --describe-configs-supported true --idempotent-producer-supported true"},
	{name: "topics delete", class: "TopicCommand", args: bootstrap + "--delete --topic tools"},
	{name: "topics list after delete", class: "TopicCommand", args: bootstrap + "--list", never: []string{"tools"}, wants: []string{"v\n"}},
}
