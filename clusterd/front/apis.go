package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
)

// api is one row of what is served: the versions from the protocol's table, and who answers.
type api struct {
	messages.API
	handle func(f *Front, r kmsg.Request, from Client, slot *Slot)
}

// apis is the table by key. It is filled by init because the handler of ApiVersions reads it.
var apis map[int16]*api

func init() {
	apis = map[int16]*api{}
	for key, handle := range handlers() {
		row, ok := messages.APIOf(key)
		if !ok {
			panic("front: a handler for an api that the protocol's table does not have")
		}
		apis[key] = &api{API: row, handle: handle}
	}
	for _, row := range messages.APIs() {
		if apis[row.Key] == nil {
			panic("front: " + row.Name + " is in the protocol's table and has no handler")
		}
	}
}

// handler makes a row's function from a handler of a concrete request type.
func handler[R kmsg.Request](handle func(*Front, R, Client, *Slot)) func(*Front, kmsg.Request, Client, *Slot) {
	return func(f *Front, r kmsg.Request, from Client, slot *Slot) { handle(f, r.(R), from, slot) }
}

func handlers() map[int16]func(*Front, kmsg.Request, Client, *Slot) {
	return map[int16]func(*Front, kmsg.Request, Client, *Slot){
		messages.KeyProduce:                      handler((*Front).produce),
		messages.KeyFetch:                        handler((*Front).fetch),
		messages.KeyListOffsets:                  handler((*Front).listOffsets),
		messages.KeyMetadata:                     handler((*Front).metadata),
		messages.KeyOffsetCommit:                 handler((*Front).offsetCommit),
		messages.KeyOffsetFetch:                  handler((*Front).offsetFetch),
		messages.KeyFindCoordinator:              handler((*Front).findCoordinator),
		messages.KeyJoinGroup:                    handler((*Front).joinGroup),
		messages.KeyHeartbeat:                    handler((*Front).heartbeat),
		messages.KeyLeaveGroup:                   handler((*Front).leaveGroup),
		messages.KeySyncGroup:                    handler((*Front).syncGroup),
		messages.KeyDescribeGroups:               handler((*Front).describeGroups),
		messages.KeyListGroups:                   handler((*Front).listGroups),
		messages.KeyApiVersions:                  handler((*Front).apiVersions),
		messages.KeySaslHandshake:                handler((*Front).saslHandshake),
		messages.KeySaslAuthenticate:             handler((*Front).saslAuthenticate),
		messages.KeyCreateTopics:                 handler((*Front).createTopics),
		messages.KeyDeleteTopics:                 handler((*Front).deleteTopics),
		messages.KeyDeleteRecords:                handler((*Front).deleteRecords),
		messages.KeyInitProducerId:               handler((*Front).initProducerID),
		messages.KeyAddPartitionsToTxn:           handler((*Front).addPartitionsToTxn),
		messages.KeyAddOffsetsToTxn:              handler((*Front).addOffsetsToTxn),
		messages.KeyEndTxn:                       handler((*Front).endTxn),
		messages.KeyWriteTxnMarkers:              handler((*Front).writeTxnMarkers),
		messages.KeyTxnOffsetCommit:              handler((*Front).txnOffsetCommit),
		messages.KeyDescribeTransactions:         handler((*Front).describeTransactions),
		messages.KeyListTransactions:             handler((*Front).listTransactions),
		messages.KeyOffsetForLeaderEpoch:         handler((*Front).offsetForLeaderEpoch),
		messages.KeyDescribeConfigs:              handler((*Front).describeConfigs),
		messages.KeyDescribeAcls:                 handler((*Front).describeACLs),
		messages.KeyCreateAcls:                   handler((*Front).createACLs),
		messages.KeyDeleteAcls:                   handler((*Front).deleteACLs),
		messages.KeyAlterPartitionReassignments:  handler((*Front).alterPartitionReassignments),
		messages.KeyListPartitionReassignments:   handler((*Front).listPartitionReassignments),
		messages.KeyAlterConfigs:                 handler((*Front).alterConfigs),
		messages.KeyDescribeLogDirs:              handler((*Front).describeLogDirs),
		messages.KeyListConfigResources:          handler((*Front).listConfigResources),
		messages.KeyDescribeTopicPartitions:      handler((*Front).describeTopicPartitions),
		messages.KeyIncrementalAlterConfigs:      handler((*Front).incrementalAlterConfigs),
		messages.KeyCreatePartitions:             handler((*Front).createPartitions),
		messages.KeyDeleteGroups:                 handler((*Front).deleteGroups),
		messages.KeyOffsetDelete:                 handler((*Front).offsetDelete),
		messages.KeyDescribeClientQuotas:         handler((*Front).describeClientQuotas),
		messages.KeyAlterClientQuotas:            handler((*Front).alterClientQuotas),
		messages.KeyDescribeUserScramCredentials: handler((*Front).describeUserScramCredentials),
		messages.KeyAlterUserScramCredentials:    handler((*Front).alterUserScramCredentials),
		messages.KeyDescribeQuorum:               handler((*Front).describeQuorum),
		messages.KeyUpdateFeatures:               handler((*Front).updateFeatures),
		messages.KeyDescribeCluster:              handler((*Front).describeCluster),
		messages.KeyDescribeProducers:            handler((*Front).describeProducers),
		messages.KeyConsumerGroupHeartbeat:       handler((*Front).consumerGroupHeartbeat),
		messages.KeyConsumerGroupDescribe:        handler((*Front).consumerGroupDescribe),
		messages.KeyAddTopicsToMirror:            handler((*Front).addTopicsToMirror),
		messages.KeyStopMirrorTopics:             handler((*Front).stopMirrorTopics),
		messages.KeyListClusterMirrors:           handler((*Front).listClusterMirrors),
		messages.KeyDescribeClusterMirrors:       handler((*Front).describeClusterMirrors),
		messages.KeyCreateClusterMirror:          handler((*Front).createClusterMirror),
		messages.KeyRegisterMirrorSyncTopic:      handler((*Front).registerMirrorSyncTopic),
		messages.KeyUnregisterMirrorSyncTopic:    handler((*Front).unregisterMirrorSyncTopic),
		messages.KeyElectLeaders:                 handler((*Front).electLeaders),
		messages.KeyRecoverMirrorTopics:          handler((*Front).recoverMirrorTopics),
		messages.KeyAlterMirrorTopicType:         handler((*Front).alterMirrorTopicType),
		messages.KeySupersedeMirrorTopics:        handler((*Front).supersedeMirrorTopics),
	}
}
