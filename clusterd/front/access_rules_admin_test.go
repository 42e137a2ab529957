package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// adminRules are those of what administrators ask.
var adminRules = []accessRule{
	{key: messages.KeyDescribeConfigs, needs: "DESCRIBE_CONFIGS TOPIC", denied: "Resources", code: perr.TopicAuthorizationFailed, ask: describeConfigsOf(kmsg.ConfigResourceTypeTopic, secretTopic)},
	{key: messages.KeyDescribeConfigs, needs: "DESCRIBE_CONFIGS CLUSTER", denied: "Resources", code: perr.ClusterAuthorizationFailed, ask: describeConfigsOf(kmsg.ConfigResourceTypeBroker, "1")},
	{key: messages.KeyDescribeConfigs, needs: "DESCRIBE_CONFIGS CLUSTER", denied: "Resources", code: perr.ClusterAuthorizationFailed, ask: describeConfigsOf(kmsg.ConfigResourceTypeBroker, "")},
	{key: messages.KeyDescribeConfigs, needs: "DESCRIBE_CONFIGS GROUP", denied: "Resources", code: perr.GroupAuthorizationFailed, ask: describeConfigsOf(kmsg.ConfigResourceTypeGroupConfig, secretGroup)},
	{key: messages.KeyDescribeConfigs, needs: "DESCRIBE_CONFIGS CLUSTER_MIRROR", denied: "Resources", code: perr.ClusterMirrorAuthorizationFailed, ask: describeConfigsOf(clusterMirror, secretMirror)},
	{key: messages.KeyAlterConfigs, needs: "ALTER_CONFIGS TOPIC", denied: "Resources", code: perr.TopicAuthorizationFailed, ask: alterConfigsOf(kmsg.ConfigResourceTypeTopic, secretTopic, "retention.ms")},
	{key: messages.KeyAlterConfigs, needs: "ALTER_CONFIGS CLUSTER", denied: "Resources", code: perr.ClusterAuthorizationFailed, ask: alterConfigsOf(kmsg.ConfigResourceTypeBroker, "", "log.retention.ms")},
	{key: messages.KeyAlterConfigs, needs: "ALTER_CONFIGS GROUP", denied: "Resources", code: perr.GroupAuthorizationFailed, ask: alterConfigsOf(kmsg.ConfigResourceTypeGroupConfig, secretGroup, "consumer.session.timeout.ms")},
	{key: messages.KeyIncrementalAlterConfigs, needs: "ALTER_CONFIGS TOPIC", denied: "Resources", code: perr.TopicAuthorizationFailed, ask: incrementOf(kmsg.ConfigResourceTypeTopic, secretTopic, "retention.ms")},
	{key: messages.KeyIncrementalAlterConfigs, needs: "ALTER_CONFIGS CLUSTER", denied: "Resources", code: perr.ClusterAuthorizationFailed, ask: incrementOf(kmsg.ConfigResourceTypeBroker, "1", "log.retention.ms")},
	{key: messages.KeyIncrementalAlterConfigs, needs: "ALTER_CONFIGS GROUP", denied: "Resources", code: perr.GroupAuthorizationFailed, ask: incrementOf(kmsg.ConfigResourceTypeGroupConfig, secretGroup, "consumer.session.timeout.ms")},
	{key: messages.KeyIncrementalAlterConfigs, needs: "ALTER_CONFIGS CLUSTER_MIRROR", denied: "Resources", code: perr.ClusterMirrorAuthorizationFailed, ask: incrementOf(clusterMirror, secretMirror, "x")},
	{key: messages.KeyDescribeLogDirs, from: 1, below: 3, needs: "DESCRIBE CLUSTER", ask: describeDirs},
	{key: messages.KeyDescribeLogDirs, from: 3, below: 5, needs: "DESCRIBE CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: describeDirs},
	{key: messages.KeyCreatePartitions, needs: "ALTER TOPIC", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrCreatePartitionsRequest()
		r.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: secretTopic, Count: 9}}
		return r
	}},
	{key: messages.KeyDeleteGroups, needs: "DELETE GROUP", denied: "Groups", code: perr.GroupAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDeleteGroupsRequest()
		r.Groups = []string{secretGroup}
		return r
	}},
	{key: messages.KeyElectLeaders, from: 0, below: 1, needs: "ALTER CLUSTER", denied: "Topics.Partitions", code: perr.ClusterAuthorizationFailed, ask: electSecret},
	{key: messages.KeyElectLeaders, from: 1, below: 3, needs: "ALTER CLUSTER", denied: "-, Topics.Partitions", code: perr.ClusterAuthorizationFailed, ask: electSecret},
	{key: messages.KeyAlterPartitionReassignments, needs: "ALTER CLUSTER", denied: "-, Topics.Partitions", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		r.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: secretTopic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: []int32{1}}}}}
		return r
	}},
	{key: messages.KeyListPartitionReassignments, needs: "DESCRIBE CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		return kmsg.NewPtrListPartitionReassignmentsRequest()
	}},
	{key: messages.KeyOffsetDelete, needs: "DELETE GROUP, READ TOPIC", denied: "-", code: perr.GroupAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrOffsetDeleteRequest()
		r.Group, r.Topics = secretGroup, []kmsg.OffsetDeleteRequestTopic{{Topic: secretTopic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}
		return r
	}},
	{key: messages.KeyDescribeClientQuotas, needs: "DESCRIBE_CONFIGS CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		return kmsg.NewPtrDescribeClientQuotasRequest()
	}},
	{key: messages.KeyAlterClientQuotas, needs: "ALTER_CONFIGS CLUSTER", denied: "Entries", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrAlterClientQuotasRequest()
		r.Entries = []kmsg.AlterClientQuotasRequestEntry{{Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: quotaUser, Name: text(secretUser)}},
			Ops: []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1}}}}
		return r
	}},
	{key: messages.KeyDescribeAcls, needs: "DESCRIBE CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeACLsRequest()
		r.ResourceType, r.ResourcePatternType, r.Operation, r.PermissionType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		return r
	}},
	{key: messages.KeyCreateAcls, needs: "ALTER CLUSTER", denied: "Results", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrCreateACLsRequest()
		r.Creations = []kmsg.CreateACLsRequestCreation{{ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: secretTopic, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
			Principal: string(stranger), Host: "*", Operation: kmsg.ACLOperationAll, PermissionType: kmsg.ACLPermissionTypeAllow}}
		return r
	}},
	{key: messages.KeyDeleteAcls, needs: "ALTER CLUSTER", denied: "Results", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDeleteACLsRequest()
		r.Filters = []kmsg.DeleteACLsRequestFilter{{ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: text(secretTopic), ResourcePatternType: kmsg.ACLResourcePatternTypeAny,
			Operation: kmsg.ACLOperationAny, PermissionType: kmsg.ACLPermissionTypeAny}}
		return r
	}},
	{key: messages.KeyDescribeUserScramCredentials, needs: "DESCRIBE CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		return kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	}},
	{key: messages.KeyAlterUserScramCredentials, needs: "ALTER CLUSTER", denied: "Results", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		r.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: secretUser, Mechanism: 1, Iterations: 4097, Salt: []byte("salt"), SaltedPassword: []byte("mine")}}
		return r
	}},
	{key: messages.KeyDescribeQuorum, needs: "DESCRIBE CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeQuorumRequest()
		r.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
		return r
	}},
	{key: messages.KeyUpdateFeatures, needs: "ALTER CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrUpdateFeaturesRequest()
		r.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "transaction.version", AllowDowngrade: true, UpgradeType: downgradeSafe}}
		return r
	}},
	{key: messages.KeyDescribeCluster, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeClusterRequest()
		r.IncludeClusterAuthorizedOperations = true
		return r
	}},
	{key: messages.KeyDescribeProducers, needs: "READ TOPIC", denied: "Topics.Partitions", code: perr.TopicAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeProducersRequest()
		r.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: secretTopic, Partitions: []int32{0}}}
		return r
	}},
	{key: messages.KeyDescribeTransactions, needs: "DESCRIBE TRANSACTIONAL_ID", denied: "TransactionStates", code: perr.TransactionalIdAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeTransactionsRequest()
		r.TransactionalIDs = []string{secretTxn}
		return r
	}},
	{key: messages.KeyListTransactions, needs: "DESCRIBE TRANSACTIONAL_ID", ask: func(core.TopicID, int16) kmsg.Request { return kmsg.NewPtrListTransactionsRequest() }},
	{key: messages.KeyConsumerGroupHeartbeat, needs: "READ GROUP, DESCRIBE TOPIC", denied: "-", code: perr.GroupAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		r.Group, r.MemberID, r.RebalanceTimeoutMillis = secretGroup, "a-stranger", 1000
		r.SubscribedTopicNames, r.Topics = []string{secretTopic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		return r
	}},
	{key: messages.KeyConsumerGroupDescribe, needs: "DESCRIBE GROUP:" + secretConsumers + ", DESCRIBE TOPIC", denied: "Groups", code: perr.GroupAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrConsumerGroupDescribeRequest()
		r.Groups, r.IncludeAuthorizedOperations = []string{secretConsumers}, true
		return r
	}},
	{key: messages.KeyListConfigResources, needs: "DESCRIBE_CONFIGS CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		return kmsg.NewPtrListConfigResourcesRequest()
	}},
	{key: messages.KeyDescribeTopicPartitions, needs: "DESCRIBE TOPIC", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeTopicPartitionsRequest()
		r.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: secretTopic}}
		return r
	}},
	{key: messages.KeyDescribeTopicPartitions, needs: "DESCRIBE TOPIC", ask: func(core.TopicID, int16) kmsg.Request {
		return kmsg.NewPtrDescribeTopicPartitionsRequest()
	}},
}

func describeConfigsOf(kind kmsg.ConfigResourceType, name string) func(core.TopicID, int16) kmsg.Request {
	return func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrDescribeConfigsRequest()
		r.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name}}
		return r
	}
}

func alterConfigsOf(kind kmsg.ConfigResourceType, name, setting string) func(core.TopicID, int16) kmsg.Request {
	return func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrAlterConfigsRequest()
		r.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: kind, ResourceName: name, Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: setting, Value: text("77777")}}}}
		return r
	}
}

func incrementOf(kind kmsg.ConfigResourceType, name, setting string) func(core.TopicID, int16) kmsg.Request {
	return func(core.TopicID, int16) kmsg.Request {
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kind, ResourceName: name, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: setting, Value: text("77777")}}}}
		return r
	}
}

func describeDirs(core.TopicID, int16) kmsg.Request { return kmsg.NewPtrDescribeLogDirsRequest() }

func electSecret(core.TopicID, int16) kmsg.Request {
	r := kmsg.NewPtrElectLeadersRequest()
	r.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: secretTopic, Partitions: []int32{0}}}
	return r
}
