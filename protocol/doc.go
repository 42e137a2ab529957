// Package protocol frames what travels on the Kafka port.
//
// Sub-packages: wire (primitives), gen (the one generator), schemas (its input), messages (requests, responses and
// the bus), records (records of the KIPs), perr (error codes and their down-map), batch (record batches), client (the
// asking side).
//
// What is served, where it is handled, and with whose types (D28); TestTheTableOfThisPackageIsTheTableOfApis holds
// it to schemas/apis.json:
//
//	API                        key  versions  types  handled in clusterd/front
//	Produce                      0  3-14      kmsg   00_produce.go
//	Fetch                        1  4-20      own    01_fetch.go
//	ListOffsets                  2  1-11      kmsg   02_list_offsets.go
//	Metadata                     3  0-13      kmsg   03_metadata.go
//	OffsetCommit                 8  2-10      kmsg   08_offset_commit.go
//	OffsetFetch                  9  1-10      kmsg   09_offset_fetch.go
//	FindCoordinator             10  0-6       kmsg   10_find_coordinator.go
//	JoinGroup                   11  0-9       kmsg   11_join_group.go
//	Heartbeat                   12  0-4       kmsg   12_heartbeat.go
//	LeaveGroup                  13  0-5       kmsg   13_leave_group.go
//	SyncGroup                   14  0-5       kmsg   14_sync_group.go
//	DescribeGroups              15  0-6       kmsg   15_describe_groups.go
//	ListGroups                  16  0-5       kmsg   16_list_groups.go
//	SaslHandshake               17  0-1       kmsg   17_sasl_handshake.go
//	ApiVersions                 18  0-5       kmsg   18_api_versions.go
//	CreateTopics                19  2-8       own    19_create_topics.go
//	DeleteTopics                20  1-6       kmsg   20_delete_topics.go
//	DeleteRecords               21  0-2       kmsg   21_delete_records.go
//	InitProducerId              22  0-5       kmsg   22_init_producer_id.go
//	OffsetForLeaderEpoch        23  2-4       kmsg   23_offset_for_leader_epoch.go
//	AddPartitionsToTxn          24  0-5       kmsg   24_add_partitions_to_txn.go
//	AddOffsetsToTxn             25  0-4       kmsg   25_add_offsets_to_txn.go
//	EndTxn                      26  0-5       kmsg   26_end_txn.go
//	WriteTxnMarkers             27  1-2       kmsg   27_write_txn_markers.go
//	TxnOffsetCommit             28  0-6       kmsg   28_txn_offset_commit.go
//	DescribeAcls                29  1-3       kmsg   29_describe_acls.go
//	CreateAcls                  30  1-3       kmsg   30_create_acls.go
//	DeleteAcls                  31  1-3       kmsg   31_delete_acls.go
//	DescribeConfigs             32  1-4       kmsg   32_describe_configs.go
//	AlterConfigs                33  0-2       kmsg   33_alter_configs.go
//	DescribeLogDirs             35  1-4       kmsg   35_describe_log_dirs.go
//	SaslAuthenticate            36  0-2       kmsg   36_sasl_authenticate.go
//	CreatePartitions            37  0-3       kmsg   37_create_partitions.go
//	DeleteGroups                42  0-3       kmsg   42_delete_groups.go
//	ElectLeaders                43  0-2       kmsg   43_elect_leaders.go
//	IncrementalAlterConfigs     44  0-1       kmsg   44_incremental_alter_configs.go
//	AlterPartitionReassignments  45  0-1       kmsg   45_alter_partition_reassignments.go
//	ListPartitionReassignments  46  0-0       kmsg   46_list_partition_reassignments.go
//	OffsetDelete                47  0-0       kmsg   47_offset_delete.go
//	DescribeClientQuotas        48  0-1       kmsg   48_describe_client_quotas.go
//	AlterClientQuotas           49  0-1       kmsg   49_alter_client_quotas.go
//	DescribeUserScramCredentials  50  0-0       kmsg   50_describe_user_scram_credentials.go
//	AlterUserScramCredentials   51  0-0       kmsg   51_alter_user_scram_credentials.go
//	DescribeQuorum              55  0-2       kmsg   55_describe_quorum.go
//	UpdateFeatures              57  0-2       kmsg   57_update_features.go
//	DescribeCluster             60  0-2       kmsg   60_describe_cluster.go
//	DescribeProducers           61  0-0       kmsg   61_describe_producers.go
//	DescribeTransactions        65  0-0       kmsg   65_describe_transactions.go
//	ListTransactions            66  0-2       kmsg   66_list_transactions.go
//	ConsumerGroupHeartbeat      68  0-1       kmsg   68_consumer_group_heartbeat.go
//	ConsumerGroupDescribe       69  0-1       kmsg   69_consumer_group_describe.go
//	ListConfigResources         74  0-1       kmsg   74_list_config_resources.go
//	DescribeTopicPartitions     75  0-0       kmsg   75_describe_topic_partitions.go
//	AddTopicsToMirror           95  0-1       own    95_add_topics_to_mirror.go
//	StopMirrorTopics            96  0-0       own    96_stop_mirror_topics.go
//	ListClusterMirrors          98  0-0       own    98_list_cluster_mirrors.go
//	DescribeClusterMirrors      99  0-0       own    99_describe_cluster_mirrors.go
//	CreateClusterMirror        107  0-0       own    107_create_cluster_mirror.go
//	RegisterMirrorSyncTopic    108  0-0       own    108_register_mirror_sync_topic.go
//	UnregisterMirrorSyncTopic  109  0-0       own    109_unregister_mirror_sync_topic.go
//	AlterMirrorTopicType       110  0-0       own    110_alter_mirror_topic_type.go
//	RecoverMirrorTopics        111  0-0       own    111_recover_mirror_topics.go
//	SupersedeMirrorTopics      112  0-0       own    112_supersede_mirror_topics.go
//
// Produce is shown from version 0, since old librdkafka infers features from it. 100, 101, 105 and 106 are calls
// between brokers and are never shown to clients; this slice does not serve them. Everything else is
// refused as Kafka refuses what it does not know.
package protocol
