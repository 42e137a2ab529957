package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
)

// needs is what clients of one kind look for in the list of APIs: the highest version that they send, which must be in
// the range, and the lowest that they look for to turn a feature on.
type needs struct {
	client  string
	highest map[int16]int16
	lowest  map[int16]int16
}

var clients = []needs{
	{client: "librdkafka turns features off by the lowest versions", lowest: map[int16]int16{messages.KeyProduce: 0, messages.KeyFetch: 4,
		messages.KeyFindCoordinator: 0, messages.KeyJoinGroup: 0, messages.KeySyncGroup: 0, messages.KeyHeartbeat: 0, messages.KeyLeaveGroup: 0,
		messages.KeyOffsetCommit: 2, messages.KeyOffsetFetch: 1, messages.KeyInitProducerId: 0, messages.KeyOffsetForLeaderEpoch: 2}},
	{client: "librdkafka", highest: map[int16]int16{messages.KeyProduce: 10, messages.KeyFetch: 16, messages.KeyListOffsets: 7, messages.KeyMetadata: 13,
		messages.KeyOffsetCommit: 9, messages.KeyOffsetFetch: 9, messages.KeyFindCoordinator: 2, messages.KeyJoinGroup: 5, messages.KeyHeartbeat: 3,
		messages.KeyLeaveGroup: 1, messages.KeySyncGroup: 3, messages.KeyDescribeGroups: 5, messages.KeyListGroups: 4, messages.KeyApiVersions: 3,
		messages.KeyCreateTopics: 4, messages.KeyDeleteTopics: 4, messages.KeyInitProducerId: 4, messages.KeyAddPartitionsToTxn: 0,
		messages.KeyAddOffsetsToTxn: 0, messages.KeyEndTxn: 1, messages.KeyTxnOffsetCommit: 3, messages.KeyDescribeAcls: 2, messages.KeyDescribeConfigs: 1,
		messages.KeyAlterConfigs: 2, messages.KeyIncrementalAlterConfigs: 1, messages.KeyCreatePartitions: 2, messages.KeyDeleteGroups: 2,
		messages.KeyOffsetDelete: 0, messages.KeyConsumerGroupHeartbeat: 1, messages.KeyConsumerGroupDescribe: 0}},
	{client: "kafkajs takes no notice of the lowest versions", highest: map[int16]int16{messages.KeyProduce: 7, messages.KeyFetch: 11, messages.KeyListOffsets: 3,
		messages.KeyMetadata: 6, messages.KeyOffsetCommit: 5, messages.KeyOffsetFetch: 4, messages.KeyFindCoordinator: 2, messages.KeyJoinGroup: 5,
		messages.KeyHeartbeat: 3, messages.KeyLeaveGroup: 3, messages.KeySyncGroup: 3, messages.KeyApiVersions: 2, messages.KeyCreateTopics: 3,
		messages.KeyDeleteTopics: 1, messages.KeyInitProducerId: 1, messages.KeyAddPartitionsToTxn: 1, messages.KeyEndTxn: 1, messages.KeyTxnOffsetCommit: 1,
		messages.KeyDescribeConfigs: 2, messages.KeyAlterConfigs: 1}},
	{client: "kafka-go", highest: map[int16]int16{messages.KeyFetch: 5, messages.KeyMetadata: 1, messages.KeyProduce: 3, messages.KeyJoinGroup: 1,
		messages.KeyListOffsets: 1, messages.KeyOffsetFetch: 1, messages.KeyOffsetCommit: 2, messages.KeyCreateTopics: 5}},
	{client: "aiokafka", highest: map[int16]int16{messages.KeyFetch: 11, messages.KeyMetadata: 5, messages.KeyJoinGroup: 5, messages.KeySyncGroup: 3,
		messages.KeyOffsetCommit: 3, messages.KeyOffsetFetch: 3, messages.KeyFindCoordinator: 1, messages.KeyHeartbeat: 1, messages.KeyLeaveGroup: 1, messages.KeyProduce: 8}},
	{client: "Java 4", highest: map[int16]int16{messages.KeyProduce: 13, messages.KeyFetch: 18, messages.KeyListOffsets: 11, messages.KeyMetadata: 13,
		messages.KeyOffsetCommit: 10, messages.KeyOffsetFetch: 10, messages.KeyFindCoordinator: 6, messages.KeyJoinGroup: 9, messages.KeyApiVersions: 4,
		messages.KeyCreateTopics: 7, messages.KeyInitProducerId: 5, messages.KeyEndTxn: 5, messages.KeyTxnOffsetCommit: 5, messages.KeyDescribeCluster: 2,
		messages.KeyDescribeTopicPartitions: 0, messages.KeyIncrementalAlterConfigs: 1, messages.KeyDescribeGroups: 6, messages.KeyListGroups: 5}},
}

// TestEveryClientFindsWhatItLooksFor: compat-K5, compat-H05, compat-H07, compat-H09, and nothing is shown that nobody serves.
func TestEveryClientFindsWhatItLooksFor(t *testing.T) {
	h := newHouse(t, 2)
	for broker := 1; broker <= 2; broker++ {
		resp := h.raw(broker, handshake(), 4).(*kmsg.ApiVersionsResponse)
		type versions struct{ min, max int16 }
		shown := map[int16]versions{}
		for _, k := range resp.ApiKeys {
			shown[k.ApiKey] = versions{k.MinVersion, k.MaxVersion}
			if apis[k.ApiKey] == nil || apis[k.ApiKey].Max != k.MaxVersion {
				t.Errorf("key %d is shown up to %d, and not served so", k.ApiKey, k.MaxVersion)
			}
		}
		for _, c := range clients {
			for key, version := range c.highest {
				if v, ok := shown[key]; !ok || version < v.min || version > v.max {
					t.Errorf("%s sends version %d of key %d; shown is %+v", c.client, version, key, v)
				}
			}
			for key, version := range c.lowest {
				if v, ok := shown[key]; !ok || v.min > version {
					t.Errorf("%s looks for version %d of key %d; shown is %+v", c.client, version, key, v)
				}
			}
		}
		for _, key := range []int16{4, 5, 6, 7, 71, 72} { // between brokers of old, and telemetry
			if _, ok := shown[key]; ok {
				t.Errorf("key %d is shown", key)
			}
		}
		// Who finds topic ids in these must be able to learn them, else it sends zeros.
		if ids := shown[messages.KeyProduce].max >= 13 || shown[messages.KeyFetch].max >= 13 || shown[messages.KeyOffsetCommit].max >= 10; ids && shown[messages.KeyMetadata].max < 12 {
			t.Error("topic ids without a Metadata that tells them")
		}
		level := int16(0)
		for _, f := range resp.FinalizedFeatures {
			if f.Name == "transaction.version" {
				level = f.MaxVersionLevel
			}
		}
		if served := shown[messages.KeyProduce].max >= 12 && shown[messages.KeyEndTxn].max >= 5 && shown[messages.KeyTxnOffsetCommit].max >= 5 && shown[messages.KeyAddOffsetsToTxn].max >= 4; served != (level == 2) {
			t.Errorf("transaction version %d, its requests are shown: %t", level, served)
		}
	}
}

func handshake() *kmsg.ApiVersionsRequest {
	r := kmsg.NewPtrApiVersionsRequest()
	r.ClientSoftwareName, r.ClientSoftwareVersion = "test", "1.0"
	return r
}
