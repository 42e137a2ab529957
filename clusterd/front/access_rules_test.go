package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// What a test's house has, and a stranger must not hear of.
const (
	secretTopic     = "secret-topic"
	secretGated     = "secret-gated" // with a synchronous mirror m of cluster dc2
	secretGroup     = "secret-group"
	secretConsumers = "secret-consumers"
	secretTxn       = "secret-txn"
	secretMirror    = "secret-mirror"
	secretUser      = "secret-user"
)

// accessRule is what somebody needs for an api, and what they are told who do not have it.
type accessRule struct {
	key         int16
	from, below int16 // versions; below 0: all of them
	// needs are the rights, as "OPERATION TYPE": all of a list by commas, any list between bars. "": none, or the api is nobody's.
	needs string
	// denied is where whoever has no right at all is refused, as the fields on the way to an error code, by commas; "-": that of
	// the answer. "": nowhere, what is not to be seen is left out.
	denied string
	code   perr.Code
	ask    func(id core.TopicID, version int16) kmsg.Request
}

// accessRules are those of Apache Kafka 4 (KafkaApis, ControllerApis, AclApis); those that administer follow in adminRules, and our own in mirrorRules.
var accessRules = []accessRule{
	{key: messages.KeyProduce, needs: "WRITE TOPIC", denied: "Topics.Partitions", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		return produceSecret(id, nil, plain)
	}},
	{key: messages.KeyProduce, needs: "WRITE TOPIC, WRITE TRANSACTIONAL_ID", denied: "Topics.Partitions", code: perr.TransactionalIdAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		txn := secretTxn
		return produceSecret(id, &txn, batch.Batch{ProducerID: 1, Attributes: 1 << 4})
	}},
	{key: messages.KeyFetch, needs: "READ TOPIC", denied: "Responses.Partitions", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := fetchRequest(1<<20, ask{topic: id})
		r.Topics[0].Topic = secretTopic
		return r
	}},
	{key: messages.KeyListOffsets, needs: "DESCRIBE TOPIC", denied: "Topics.Partitions", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrListOffsetsRequest()
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = askLatest
		r.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: secretTopic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
		return r
	}},
	{key: messages.KeyMetadata, needs: "DESCRIBE TOPIC", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		return metadataOf(secretTopic)
	}},
	{key: messages.KeyMetadata, from: 12, below: 14, needs: "DESCRIBE TOPIC", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrMetadataRequest()
		r.Topics = []kmsg.MetadataRequestTopic{{TopicID: id}}
		return r
	}},
	{key: messages.KeyMetadata, needs: "DESCRIBE TOPIC", ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrMetadataRequest()
		r.IncludeClusterAuthorizedOperations, r.IncludeTopicAuthorizedOperations = true, true
		return r
	}},
	{key: messages.KeyMetadata, needs: "DESCRIBE TOPIC:new, CREATE TOPIC:new | DESCRIBE TOPIC:new, CREATE CLUSTER", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := metadataOf("new")
		r.AllowAutoTopicCreation = true
		return r
	}},
	{key: messages.KeyOffsetCommit, needs: "READ GROUP, READ TOPIC", denied: "Topics.Partitions", code: perr.GroupAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Group, r.Generation = secretGroup, -1
		r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: secretTopic, TopicID: id, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 7}}}}
		return r
	}},
	{key: messages.KeyOffsetFetch, from: 1, below: 2, needs: "DESCRIBE GROUP, DESCRIBE TOPIC", denied: "Topics.Partitions", code: perr.GroupAuthorizationFailed, ask: fetchOffsetsOfSecret},
	{key: messages.KeyOffsetFetch, from: 2, below: 8, needs: "DESCRIBE GROUP, DESCRIBE TOPIC", denied: "-", code: perr.GroupAuthorizationFailed, ask: fetchOffsetsOfSecret},
	{key: messages.KeyOffsetFetch, from: 8, below: 11, needs: "DESCRIBE GROUP, DESCRIBE TOPIC", denied: "Groups", code: perr.GroupAuthorizationFailed, ask: fetchOffsetsOfSecret},
	{key: messages.KeyFindCoordinator, from: 0, below: 4, needs: "DESCRIBE GROUP", denied: "-", code: perr.GroupAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.CoordinatorKey = secretGroup
		return r
	}},
	{key: messages.KeyFindCoordinator, from: 4, below: 7, needs: "DESCRIBE TRANSACTIONAL_ID", denied: "Coordinators", code: perr.TransactionalIdAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.CoordinatorType, r.CoordinatorKeys = coordinatorTxn, []string{secretTxn}
		return r
	}},
	{key: messages.KeyJoinGroup, needs: "READ GROUP", denied: "-", code: perr.GroupAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrJoinGroupRequest()
		r.Group, r.ProtocolType, r.SessionTimeoutMillis = secretGroup, "consumer", 10_000
		r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0}}}
		return r
	}},
	{key: messages.KeyHeartbeat, needs: "READ GROUP", denied: "-", code: perr.GroupAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrHeartbeatRequest()
		r.Group = secretGroup
		return r
	}},
	{key: messages.KeyLeaveGroup, needs: "READ GROUP", denied: "-", code: perr.GroupAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Group, r.Members = secretGroup, []kmsg.LeaveGroupRequestMember{{MemberID: "nobody"}}
		return r
	}},
	{key: messages.KeySyncGroup, needs: "READ GROUP", denied: "-", code: perr.GroupAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrSyncGroupRequest()
		kind, protocol := "consumer", "range"
		r.Group, r.ProtocolType, r.Protocol = secretGroup, &kind, &protocol
		return r
	}},
	{key: messages.KeyDescribeGroups, needs: "DESCRIBE GROUP", denied: "Groups", code: perr.GroupAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Groups, r.IncludeAuthorizedOperations = []string{secretGroup}, true
		return r
	}},
	{key: messages.KeyListGroups, needs: "DESCRIBE GROUP | DESCRIBE CLUSTER", ask: func(id core.TopicID, _ int16) kmsg.Request { return kmsg.NewPtrListGroupsRequest() }},
	{key: messages.KeyApiVersions, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrApiVersionsRequest()
		r.ClientSoftwareName, r.ClientSoftwareVersion = "c", "1"
		return r
	}},
	// By these two somebody becomes somebody; the login of a connection answers them where a listener asks.
	{key: messages.KeySaslHandshake, denied: "-", code: perr.IllegalSaslState, ask: func(core.TopicID, int16) kmsg.Request { return kmsg.NewPtrSASLHandshakeRequest() }},
	{key: messages.KeySaslAuthenticate, denied: "-", code: perr.IllegalSaslState, ask: func(core.TopicID, int16) kmsg.Request { return kmsg.NewPtrSASLAuthenticateRequest() }},
	{key: messages.KeyCreateTopics, needs: "CREATE TOPIC:new | CREATE CLUSTER", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := messages.NewPtrCreateTopicsRequest()
		t := messages.NewCreateTopicsRequestTopic()
		t.Name, t.NumPartitions, t.ReplicationFactor = "new", 1, 1
		r.Topics = append(r.Topics, t)
		return r
	}},
	{key: messages.KeyCreateTopics, from: 8, needs: "CREATE TOPIC:new, CLUSTER_ACTION CLUSTER", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := messages.NewPtrCreateTopicsRequest()
		t := messages.NewCreateTopicsRequestTopic()
		t.Name, t.NumPartitions, t.ReplicationFactor = "new", 1, 1
		t.MirrorInfo = &messages.CreateTopicsRequestMirrorInfo{TopicId: [16]byte{7}}
		r.Topics = append(r.Topics, t)
		return r
	}},
	{key: messages.KeyDeleteTopics, from: 1, below: 6, needs: "DELETE TOPIC | DELETE CLUSTER", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.TopicNames = []string{secretTopic}
		return r
	}},
	{key: messages.KeyDeleteTopics, from: 6, below: 7, needs: "DELETE TOPIC | DELETE CLUSTER", denied: "Topics", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: id}}
		return r
	}},
	{key: messages.KeyDeleteRecords, needs: "DELETE TOPIC", denied: "Topics.Partitions", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrDeleteRecordsRequest()
		r.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: secretTopic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: -1}}}}
		return r
	}},
	{key: messages.KeyInitProducerId, needs: "IDEMPOTENT_WRITE CLUSTER | WRITE TOPIC", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		return kmsg.NewPtrInitProducerIDRequest()
	}},
	{key: messages.KeyInitProducerId, needs: "WRITE TRANSACTIONAL_ID", denied: "-", code: perr.TransactionalIdAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrInitProducerIDRequest()
		txn := secretTxn
		r.TransactionalID, r.TransactionTimeoutMillis = &txn, 60_000
		return r
	}},
	{key: messages.KeyOffsetForLeaderEpoch, needs: "DESCRIBE TOPIC | CLUSTER_ACTION CLUSTER", denied: "Topics.Partitions", code: perr.TopicAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrOffsetForLeaderEpochRequest()
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		r.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: secretTopic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
		return r
	}},
	{key: messages.KeyAddPartitionsToTxn, from: 0, below: 4, needs: "WRITE TRANSACTIONAL_ID, WRITE TOPIC", denied: "Topics.Partitions", code: perr.TransactionalIdAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrAddPartitionsToTxnRequest()
		r.TransactionalID, r.Topics = secretTxn, []kmsg.AddPartitionsToTxnRequestTopic{{Topic: secretTopic, Partitions: []int32{0}}}
		return r
	}},
	{key: messages.KeyAddPartitionsToTxn, from: 4, below: 6, needs: "CLUSTER_ACTION CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrAddPartitionsToTxnRequest()
		r.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: secretTxn,
			Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: secretTopic, Partitions: []int32{0}}}}}
		return r
	}},
	{key: messages.KeyAddOffsetsToTxn, needs: "WRITE TRANSACTIONAL_ID, READ GROUP", denied: "-", code: perr.TransactionalIdAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrAddOffsetsToTxnRequest()
		r.TransactionalID, r.Group = secretTxn, secretGroup
		return r
	}},
	{key: messages.KeyEndTxn, needs: "WRITE TRANSACTIONAL_ID", denied: "-", code: perr.TransactionalIdAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrEndTxnRequest()
		r.TransactionalID, r.Commit = secretTxn, true
		return r
	}},
	{key: messages.KeyWriteTxnMarkers, needs: "ALTER CLUSTER | CLUSTER_ACTION CLUSTER", denied: "Markers.Topics.Partitions", code: perr.ClusterAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrWriteTxnMarkersRequest()
		r.Markers = []kmsg.WriteTxnMarkersRequestMarker{{ProducerID: 1, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: secretTopic, Partitions: []int32{0}}}}}
		return r
	}},
	{key: messages.KeyTxnOffsetCommit, needs: "WRITE TRANSACTIONAL_ID, READ GROUP, READ TOPIC", denied: "Topics.Partitions", code: perr.TransactionalIdAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := kmsg.NewPtrTxnOffsetCommitRequest()
		r.TransactionalID, r.Group = secretTxn, secretGroup
		r.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: secretTopic, TopicID: id, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: 9}}}}
		return r
	}},
}

func produceSecret(id core.TopicID, txn *string, header batch.Batch) kmsg.Request {
	r := produceRequest(secretTopic, -1, oneRecord(header, "from a stranger"))
	r.Topics[0].TopicID, r.TransactionID = id, txn
	return r
}

func fetchOffsetsOfSecret(id core.TopicID, _ int16) kmsg.Request {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Group, r.Topics = secretGroup, []kmsg.OffsetFetchRequestTopic{{Topic: secretTopic, Partitions: []int32{0}}}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.Topics = secretGroup, []kmsg.OffsetFetchRequestGroupTopic{{Topic: secretTopic, TopicID: id, Partitions: []int32{0}}}
	r.Groups = append(r.Groups, g)
	return r
}
