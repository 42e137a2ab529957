package front

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func metadataOf(names ...string) *kmsg.MetadataRequest {
	r := kmsg.NewPtrMetadataRequest()
	r.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		r.Topics = append(r.Topics, t)
	}
	return r
}

// TestAllTopicsOrNone: compat-H01.
func TestAllTopicsOrNone(t *testing.T) {
	h := newHouse(t, 1)
	h.create("a", 1, 1, nil)
	h.create("b", 1, 1, nil)
	all := kmsg.NewPtrMetadataRequest()
	all.Topics = nil
	for _, c := range []struct {
		r       *kmsg.MetadataRequest
		version int16
		want    int
	}{{metadataOf(), 0, 2}, {all, 1, 2}, {metadataOf(), 1, 0}, {all, 12, 2}, {metadataOf(), 13, 0}} {
		if got := len(h.raw(1, c.r, c.version).(*kmsg.MetadataResponse).Topics); got != c.want {
			t.Errorf("version %d, topics null %t: %d topics, want %d", c.version, c.r.Topics == nil, got, c.want)
		}
	}
}

// TestUnknownTopics: compat-H02, compat-H03. Asking makes a topic only when broker and request allow it.
func TestUnknownTopics(t *testing.T) {
	h := newHouse(t, 3)
	code := func(r *kmsg.MetadataRequest, version int16) perr.Code {
		return perr.Code(h.raw(1, r, version).(*kmsg.MetadataResponse).Topics[0].ErrorCode)
	}
	asks := metadataOf("made")
	asks.AllowAutoTopicCreation = false
	if got := code(asks, 4); got != perr.UnknownTopicOrPartition {
		t.Errorf("a request that allows nothing: %s", got)
	}
	byID := kmsg.NewPtrMetadataRequest()
	byID.Topics = []kmsg.MetadataRequestTopic{{TopicID: [16]byte{1, 2, 3}}}
	byID.AllowAutoTopicCreation = true
	if got := code(byID, 12); got != perr.UnknownTopicId {
		t.Errorf("an unknown id: %s", got)
	}
	for _, name := range []string{"", "a/b", "..", "ü", "nul\x00"} {
		if got := code(metadataOf(name), 1); got != perr.InvalidTopicException {
			t.Errorf("name %q: %s", name, got)
		}
	}
	if got := code(metadataOf("__consumer_offsets"), 1); got == perr.None {
		t.Error("a name that is kept for Kafka was made")
	}
	asks.AllowAutoTopicCreation = true
	if got := code(asks, 4); got != perr.None {
		t.Errorf("a request that allows creation: %s", got)
	}
	h.settings["auto.create.topics.enable"] = "false"
	if got := code(metadataOf("other"), 1); got != perr.UnknownTopicOrPartition {
		t.Errorf("a broker that allows nothing: %s", got)
	}
}

// TestLeadersAreAmongTheBrokers: compat-H04, compat-H12, compat-H11.
func TestLeadersAreAmongTheBrokers(t *testing.T) {
	h := newHouse(t, 3)
	h.create("single", 3, 1, nil)
	h.create("triple", 3, 3, nil)
	h.stopBroker(1)
	waitFor(t, "broker 2 to hear of it", func() bool { return !h.cluster.Brokers()[1].Image().Brokers[1].Live })
	for version := int16(0); version <= 13; version++ {
		r := kmsg.NewPtrMetadataRequest()
		if r.Topics = nil; version == 0 {
			r.Topics = []kmsg.MetadataRequestTopic{}
		}
		resp := h.raw(2, r, version).(*kmsg.MetadataResponse)
		var ids []int32
		for _, b := range resp.Brokers {
			ids = append(ids, b.NodeID)
		}
		if !slices.Equal(ids, []int32{2, 3}) {
			t.Errorf("version %d: brokers %v", version, ids)
		}
		if version >= 1 && resp.ControllerID != 2 {
			t.Errorf("version %d: controller %d", version, resp.ControllerID)
		}
		if version >= 2 && (resp.ClusterID == nil || *resp.ClusterID != "dc1") {
			t.Errorf("version %d: no cluster id", version)
		}
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				offline := perr.Code(p.ErrorCode) == perr.LeaderNotAvailable && p.Leader == -1
				if !offline && (p.ErrorCode != 0 || !slices.Contains(ids, p.Leader)) {
					t.Errorf("version %d: %s/%d is led by %d (%s)", version, *topic.Topic, p.Partition, p.Leader, perr.Code(p.ErrorCode))
				}
				if *topic.Topic == "triple" && offline {
					t.Errorf("version %d: triple/%d has no leader although two replicas live", version, p.Partition)
				}
			}
		}
	}
}

// TestAWrongBrokerNamesTheLeader in Produce and Fetch (KIP-951), from the versions that have a place for it.
func TestAWrongBrokerNamesTheLeader(t *testing.T) {
	h := newHouse(t, 3)
	id := core.TopicID(h.create("t", 1, 1, nil).ID)
	leader := h.leader("t", 0)
	wrong := int(leader%3) + 1
	for version := int16(9); version <= 12; version++ {
		r := h.raw(wrong, produceRequest("t", -1, oneRecord(plain, "v")), version).(*kmsg.ProduceResponse)
		p := r.Topics[0].Partitions[0]
		told := p.CurrentLeader.LeaderID == int32(leader) && len(r.Brokers) == 1 && r.Brokers[0].NodeID == int32(leader)
		if perr.Code(p.ErrorCode) != perr.NotLeaderOrFollower || told != (version >= 10) {
			t.Errorf("produce version %d: %s, leader %d, brokers %+v", version, perr.Code(p.ErrorCode), p.CurrentLeader.LeaderID, r.Brokers)
		}
	}
	for version := int16(13); version <= 18; version++ {
		r := h.raw(wrong, fetchRequest(1<<20, ask{topic: id}), version).(*messages.FetchResponse)
		p := r.Responses[0].Partitions[0]
		if perr.Code(p.ErrorCode) != perr.NotLeaderOrFollower || p.CurrentLeader.LeaderId != int32(leader) || (len(r.NodeEndpoints) == 1) != (version >= 16) {
			t.Errorf("fetch version %d: %s, leader %+v, brokers %+v", version, perr.Code(p.ErrorCode), p.CurrentLeader, r.NodeEndpoints)
		}
	}
}

// TestATopicIsThereWhenCreateAnswers, on the broker asked and for a produce at once (compat-A10).
func TestATopicIsThereWhenCreateAnswers(t *testing.T) {
	h := newHouse(t, 3)
	for i := range 10 {
		name := "t" + string(rune('a'+i))
		h.create(name, 3, 3, nil)
		h.produce(name, values("v", 3), kgo.RecordRetries(0))
	}
}

// TestTopicsAreJudgedBeforeTheyAreMade: compat-A04, A05, A07, A09, A11, A16.
func TestTopicsAreJudgedBeforeTheyAreMade(t *testing.T) {
	h := newHouse(t, 3)
	ptr := func(s string) *string { return &s }
	topic := func(name string, partitions int32, replicas int16, config ...string) messages.CreateTopicsRequestTopic {
		rt := messages.NewCreateTopicsRequestTopic()
		rt.Name, rt.NumPartitions, rt.ReplicationFactor = name, partitions, replicas
		for i := 0; i < len(config); i += 2 {
			c := messages.NewCreateTopicsRequestConfig()
			c.Name, c.Value = config[i], ptr(config[i+1])
			rt.Configs = append(rt.Configs, c)
		}
		return rt
	}
	h.create("there.is", 1, 1, nil)
	for _, c := range []struct {
		topic messages.CreateTopicsRequestTopic
		want  perr.Code
	}{
		{topic("there.is", 1, 1), perr.TopicAlreadyExists},
		{topic("there_is", 1, 1), perr.InvalidTopicException},
		{topic("../x", 1, 1), perr.InvalidTopicException},
		{topic("", 1, 1), perr.InvalidTopicException},
		{topic("__cluster_metadata", 1, 1), perr.InvalidTopicException},
		{topic("zero", 0, 1), perr.InvalidPartitions},
		{topic("four", 1, 4), perr.InvalidReplicationFactor},
		{topic("odd", 1, 1, "no.such.setting", "1"), perr.InvalidConfig},
		{topic("even", 1, 2), perr.None},
		{topic("defaults", -1, -1), perr.None},
		{topic("compacted", 1, 1, "cleanup.policy", "compact"), perr.None},
	} {
		for _, dry := range []bool{true, false} {
			r := messages.NewPtrCreateTopicsRequest()
			r.ValidateOnly = dry
			r.Topics = append(r.Topics, c.topic)
			got := h.raw(2, r, 7).(*messages.CreateTopicsResponse).Topics[0]
			if perr.Code(got.ErrorCode) != c.want || c.want != perr.None && got.ErrorMessage == nil {
				t.Errorf("%q, validate only %t: %s, want %s", c.topic.Name, dry, perr.Code(got.ErrorCode), c.want)
			}
			if c.want == perr.None && (got.NumPartitions < 1 || got.ReplicationFactor < 1 || len(got.Configs) == 0) {
				t.Errorf("%q, validate only %t: described as %+v", c.topic.Name, dry, got)
			}
		}
	}
}

// TestADeletedTopicIsGone by name and by id.
func TestADeletedTopicIsGone(t *testing.T) {
	h := newHouse(t, 3)
	h.create("a", 1, 3, nil)
	id := h.create("b", 1, 3, nil).ID
	name := "a"
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}, {TopicID: id}, {TopicID: core.TopicID{9}}, {}, {Topic: &name, TopicID: id}}
	got := h.raw(3, r, 6).(*kmsg.DeleteTopicsResponse).Topics
	if got[0].ErrorCode != 0 || got[1].ErrorCode != 0 || *got[1].Topic != "b" || perr.Code(got[2].ErrorCode) != perr.UnknownTopicId ||
		perr.Code(got[3].ErrorCode) != perr.InvalidRequest || perr.Code(got[4].ErrorCode) != perr.InvalidRequest {
		t.Errorf("%+v", got)
	}
	if left := h.raw(3, metadataOf(), 0).(*kmsg.MetadataResponse).Topics; len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// TestSettingsSayWhereTheyComeFrom: compat-A08, A12; the broker shows where its NATS is (D19).
func TestSettingsSayWhereTheyComeFrom(t *testing.T) {
	h := newHouse(t, 3)
	h.settings[natsURL] = "nats://127.0.0.1:4222"
	compact := "compact"
	h.create("t", 1, 3, map[string]*string{"cleanup.policy": &compact})
	adm := kadm.NewClient(h.client())
	topics, err := adm.DescribeTopicConfigs(patient(t), "t", "unknown")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		value  string
		source kmsg.ConfigSource
	}{
		"cleanup.policy":      {"compact", kmsg.ConfigSourceDynamicTopicConfig},
		"retention.ms":        {"604800000", kmsg.ConfigSourceDefaultConfig},
		"min.insync.replicas": {"2", kmsg.ConfigSourceDefaultConfig},
	}
	for _, rc := range topics {
		if rc.Name == "unknown" {
			if rc.Err == nil {
				t.Error("an unknown topic has settings")
			}
			continue
		}
		for _, c := range rc.Configs {
			if w, ok := want[c.Key]; ok {
				if c.MaybeValue() != w.value || c.Source != w.source {
					t.Errorf("%s = %s from %v, want %s from %v", c.Key, c.MaybeValue(), c.Source, w.value, w.source)
				}
				delete(want, c.Key)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not described: %v", want)
	}
	r := kmsg.NewPtrDescribeConfigsRequest()
	r.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "2", ConfigNames: []string{natsURL}}}
	got := h.raw(2, r, 4).(*kmsg.DescribeConfigsResponse).Resources[0]
	if len(got.Configs) != 1 || *got.Configs[0].Value != "nats://127.0.0.1:4222" || !got.Configs[0].ReadOnly {
		t.Errorf("%+v", got)
	}
	if other := h.raw(1, r, 4).(*kmsg.DescribeConfigsResponse).Resources[0]; perr.Code(other.ErrorCode) != perr.InvalidRequest {
		t.Errorf("broker 1 answers for broker 2: %+v", other)
	}
}

// TestTheHandshake: compat §1.3 rules 5, 6, 9 and the features that a destination looks for.
func TestTheHandshake(t *testing.T) {
	h := newHouse(t, 2)
	r := kmsg.NewPtrApiVersionsRequest()
	r.ClientSoftwareName, r.ClientSoftwareVersion = "test", "1.0"
	resp := h.raw(1, r, 3).(*kmsg.ApiVersionsResponse)
	finalized := map[string]int16{}
	for _, f := range resp.FinalizedFeatures {
		finalized[f.Name] = f.MaxVersionLevel
	}
	if resp.ErrorCode != 0 || finalized["mirror.version"] != 1 || finalized["mirror.sync.version"] != 1 || resp.FinalizedFeaturesEpoch < 0 {
		t.Errorf("%+v", resp)
	}
	// Java clients that ask in v3 take no level that begins at 0.
	if s := resp.SupportedFeatures; len(s) != 1 || s[0].Name != image.MetadataVersion || s[0].MinVersion == 0 || finalized[s[0].Name] != s[0].MaxVersion {
		t.Errorf("in v3, supported features %+v of %v", s, finalized)
	}
	if s := h.raw(1, handshake(), 4).(*kmsg.ApiVersionsResponse).SupportedFeatures; len(s) != len(controller.Features) {
		t.Errorf("in v4, supported features %+v", s)
	}
	for _, k := range resp.ApiKeys {
		if k.ApiKey == messages.KeyProduce && (k.MinVersion != 0 || k.MaxVersion != 14) {
			t.Errorf("Produce is shown as %d to %d", k.MinVersion, k.MaxVersion)
		}
	}
	for _, name := range []string{"", "-x", "x y", "x-"} {
		r.ClientSoftwareName = name
		if got := h.raw(1, r, 3).(*kmsg.ApiVersionsResponse); perr.Code(got.ErrorCode) != perr.InvalidRequest {
			t.Errorf("software name %q: %s", name, perr.Code(got.ErrorCode))
		}
	}
	if apis[messages.KeyApiVersions].Max < 5 {
		return
	}
	r.ClientSoftwareName = "test"
	dc1, dc2 := "dc1", "dc2"
	for _, c := range []struct {
		cluster *string
		node    int32
		want    perr.Code
	}{{nil, -1, perr.None}, {&dc1, 1, perr.None}, {&dc1, -1, perr.InvalidRequest}, {nil, 1, perr.InvalidRequest}, {&dc2, 1, perr.RebootstrapRequired}, {&dc1, 2, perr.RebootstrapRequired}} {
		r.ClusterID, r.NodeID = c.cluster, c.node
		if got := h.raw(1, r, 5).(*kmsg.ApiVersionsResponse); perr.Code(got.ErrorCode) != c.want {
			t.Errorf("node %d: %s, want %s", c.node, perr.Code(got.ErrorCode), c.want)
		}
	}
}

// Java's Admin knows by 114 that it was given bootstrap.controllers for a cluster that has none; 115 is for types that
// nobody has.
func TestWhichEndpointsThereAre(t *testing.T) {
	h := newHouse(t, 1)
	for kind, want := range map[int8]perr.Code{1: perr.None, 2: perr.MismatchedEndpointType, 0: perr.UnsupportedEndpointType, 3: perr.UnsupportedEndpointType} {
		for version := int16(1); version <= 2; version++ {
			r := kmsg.NewPtrDescribeClusterRequest()
			r.EndpointType = kind
			if resp := h.raw(1, r, version).(*kmsg.DescribeClusterResponse); perr.Code(resp.ErrorCode) != want || (len(resp.Brokers) == 1) != (want == perr.None) {
				t.Errorf("type %d, v%d: %s, %d brokers", kind, version, perr.Code(resp.ErrorCode), len(resp.Brokers))
			}
		}
	}
}
