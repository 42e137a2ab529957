package front

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/fetcher"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// askedSource asks a source over its Kafka port, as the daemon does.
type askedSource struct{}

func (askedSource) Check(config map[string]string) string {
	if _, err := fetcher.ParseConfig(config, nil); err != nil {
		return err.Error()
	}
	return ""
}

func (askedSource) Identify(ctx context.Context, config map[string]string) (core.ClusterID, error) {
	s, err := discovered(ctx, config, func(string) bool { return false })
	return s.Cluster, err
}

func (askedSource) Topics(ctx context.Context, config map[string]string, names, include, exclude []string) ([]mirror.SourceTopic, error) {
	s, err := discovered(ctx, config, func(name string) bool {
		return slices.Contains(names, name) || matchesAny(include, name) && !matchesAny(exclude, name)
	})
	return s.Topics, err
}

func discovered(ctx context.Context, config map[string]string, match func(string) bool) (fetcher.Source, error) {
	c, err := fetcher.ParseConfig(config, nil)
	if err != nil {
		return fetcher.Source{}, err
	}
	return fetcher.Discover(ctx, c, match)
}

func (h *house) createMirror(name string, config ...string) *messages.CreateClusterMirrorResponse {
	h.t.Helper()
	r := messages.NewPtrCreateClusterMirrorRequest()
	r.MirrorName = name
	for i := 0; i < len(config); i += 2 {
		c := messages.NewCreateClusterMirrorRequestConfig()
		c.Name, c.Value = config[i], &config[i+1]
		r.Configs = append(r.Configs, c)
	}
	return h.raw(1, r, 0).(*messages.CreateClusterMirrorResponse)
}

func (h *house) describeMirror(name string) messages.DescribeClusterMirrorsResponseMirror {
	h.t.Helper()
	r := messages.NewPtrDescribeClusterMirrorsRequest()
	r.MirrorNames = []string{name}
	return h.raw(1, r, 0).(*messages.DescribeClusterMirrorsResponse).Mirrors[0]
}

// TestAMirrorIsMadeOnlyOfAnotherCluster: what is wrong with a mirror's settings is said when it is made.
func TestAMirrorIsMadeOnlyOfAnotherCluster(t *testing.T) {
	source, h := newHouse(t, 1), newHouseOf(t, "dc2", 1)
	there, here := source.addrs[0], h.addrs[0]
	for _, c := range []struct {
		name   string
		mirror string
		config []string
		want   perr.Code
		says   string
	}{
		{"no servers", "m", nil, perr.InvalidRequest, "bootstrap.servers"},
		{"a bad name", "a/b", []string{bootstrapServers, there}, perr.InvalidRequest, "a/b"},
		{"itself", "m", []string{bootstrapServers, here}, perr.InvalidConfig, "another one"},
		{"another than it says", "m", []string{bootstrapServers, there, sourceClusterID, "dc9"}, perr.InvalidConfig, "dc9"},
		{"nobody there", "m", []string{bootstrapServers, "127.0.0.1:1"}, perr.InvalidRequest, "source.cluster.id"},
		{"a good one", "m", []string{bootstrapServers, there}, perr.None, ""},
		{"a name that is taken", "m", []string{bootstrapServers, there}, perr.ClusterMirrorAlreadyExists, "m"},
	} {
		got := h.createMirror(c.mirror, c.config...)
		why := ""
		if got.ErrorMessage != nil {
			why = *got.ErrorMessage
		}
		if perr.Code(got.ErrorCode) != c.want || !strings.Contains(why, c.says) {
			t.Errorf("%s: %s %q, want %s", c.name, perr.Code(got.ErrorCode), why, c.want)
		}
		if c.want == perr.None && got.SourceClusterId != "dc1" {
			t.Errorf("%s: source %q", c.name, got.SourceClusterId)
		}
	}
}

// TestAMirrorsTopicsFromStartToStop: resolved at the source with its ids, read-only while they are
// mirrored, described by every broker, claimed by their pattern, and writable once stopped.
func TestAMirrorsTopicsFromStartToStop(t *testing.T) {
	source, h := newHouse(t, 1), newHouseOf(t, "dc2", 1)
	id := core.TopicID(source.create("orders-a", 2, 1, nil).ID)
	source.create("orders-b", 1, 1, nil)
	source.create("secret", 1, 1, nil)
	if got := h.createMirror("m", bootstrapServers, source.addrs[0]); got.ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	start := messages.NewPtrAddTopicsToMirrorRequest()
	start.MirrorName, start.IncludePatterns, start.ExcludePatterns = "m", []string{"orders-.*"}, []string{"orders-b"}
	named := messages.NewAddTopicsToMirrorRequestTopicState()
	named.TopicName = "nowhere"
	start.Topics = append(start.Topics, named)
	resp := h.raw(1, start, 1).(*messages.AddTopicsToMirrorResponse)
	results := map[string]perr.Code{}
	for _, r := range resp.Topics {
		results[r.TopicName] = perr.Code(r.ErrorCode)
	}
	if len(results) != 2 || results["orders-a"] != perr.None || results["nowhere"] != perr.UnknownTopicOrPartition {
		t.Fatalf("%s %v", perr.Code(resp.ErrorCode), results)
	}
	waitFor(t, "the topic here, under its id", func() bool {
		topic, ok := h.cluster.Brokers()[0].Image().TopicNamed("orders-a")
		return ok && topic.ID == id && len(topic.Partitions) == 2
	})
	waitFor(t, "a leader of it", func() bool { return h.listOffsetAt("orders-a", 7, 0, -2)[0].ErrorCode == 0 })
	h.readOnly(t, id)
	auto := metadataOf("orders-c")
	if got := h.raw(1, auto, 1).(*kmsg.MetadataResponse).Topics[0]; perr.Code(got.ErrorCode) != perr.UnknownTopicOrPartition {
		t.Errorf("a name that the mirror claims was made by asking: %s", perr.Code(got.ErrorCode))
	}
	if got := h.raw(1, metadataOf("elsewhere"), 1).(*kmsg.MetadataResponse).Topics[0]; got.ErrorCode != 0 { // compat-M52
		t.Errorf("a name that no mirror claims: %s", perr.Code(got.ErrorCode))
	}
	list := messages.NewPtrListClusterMirrorsRequest()
	list.IncludeTopicNames = true
	if m := h.raw(1, list, 0).(*messages.ListClusterMirrorsResponse).Mirrors; len(m) != 1 || m[0].SourceClusterId != "dc1" || !slices.Equal(m[0].TopicNames, []string{"orders-a"}) {
		t.Errorf("list: %+v", m)
	}
	if got := h.alter("orders-a", 1); got != perr.None {
		t.Errorf("alter to SYNC: %s", got)
	}
	if got := h.alter("secret", 1); got != perr.TopicNotInClusterMirror {
		t.Errorf("alter of a topic that is not mirrored: %s", got)
	}
	if d := h.describeMirror("m"); len(d.Topics) != 1 || d.Topics[0].DesiredMirrorType != 1 || d.Topics[0].EffectiveMirrorType != 0 || len(d.Topics[0].Partitions) != 2 {
		t.Errorf("describe: %+v", d)
	}
	stop := messages.NewPtrStopMirrorTopicsRequest()
	stop.MirrorName = "m"
	stopped := messages.NewStopMirrorTopicsRequestTopicState()
	stopped.TopicName = "orders-a"
	stop.Topics = append(stop.Topics, stopped)
	if got := h.raw(1, stop, 0).(*messages.StopMirrorTopicsResponse); got.ErrorCode != 0 || len(got.Topics) != 1 || got.Topics[0].ErrorCode != 0 {
		t.Fatalf("stop: %+v", got)
	}
	waitFor(t, "the topic to be writable", func() bool {
		return h.produceOnce("orders-a", 9, -1, oneRecord(plain, "ours")).ErrorCode == 0
	})
}

// TestSettingsComeAlongButThoseOfAPlace: compat-M44.
func TestSettingsComeAlongButThoseOfAPlace(t *testing.T) {
	source, h := newHouse(t, 1), newHouseOf(t, "dc2", 1)
	local := []string{"min.insync.replicas", "unclean.leader.election.enable", "mirror.support.unclean.leader.election"}
	config := map[string]*string{"retention.ms": ptr("1000"), "cleanup.policy": ptr("compact"), local[0]: ptr("1"), local[1]: ptr("true"), local[2]: ptr("true")}
	source.create("orders", 1, 1, config)
	if got := h.createMirror("m", bootstrapServers, source.addrs[0]); got.ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	start := messages.NewPtrAddTopicsToMirrorRequest()
	start.MirrorName, start.IncludePatterns = "m", []string{"orders"}
	if got := h.raw(1, start, 1).(*messages.AddTopicsToMirrorResponse); len(got.Topics) != 1 || got.Topics[0].ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	waitFor(t, "the topic here", func() bool {
		_, ok := h.cluster.Brokers()[0].Image().TopicNamed("orders")
		return ok
	})
	topic, _ := h.cluster.Brokers()[0].Image().TopicNamed("orders")
	for name, value := range config {
		if got, ok := topic.Config[name]; slices.Contains(local, name) == ok || ok && got != *value {
			t.Errorf("%s is %q here (%t)", name, got, ok)
		}
	}
}

// readOnly wants every way to change a mirrored topic refused, each in the words of its version.
func (h *house) readOnly(t *testing.T, id core.TopicID) {
	t.Helper()
	for version, want := range map[int16]perr.Code{9: perr.PolicyViolation, 14: perr.ReadOnlyTopic} {
		r := produceRequest("orders-a", -1, oneRecord(plain, "v"))
		r.Topics[0].TopicID = id
		got := h.raw(1, r, version).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if perr.Code(got.ErrorCode) != want || got.ErrorMessage == nil {
			t.Errorf("produce version %d: %s, want %s", version, perr.Code(got.ErrorCode), want)
		}
	}
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.TopicNames = []string{"orders-a"}
	if got := h.raw(1, del, 5).(*kmsg.DeleteTopicsResponse).Topics[0]; perr.Code(got.ErrorCode) != perr.PolicyViolation || got.ErrorMessage == nil {
		t.Errorf("delete: %s", perr.Code(got.ErrorCode))
	}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "orders-a", Count: 90}}
	if got := h.raw(1, grow, 3).(*kmsg.CreatePartitionsResponse).Topics[0]; perr.Code(got.ErrorCode) != perr.PolicyViolation || got.ErrorMessage == nil {
		t.Errorf("more partitions: %s", perr.Code(got.ErrorCode))
	}
}

func (h *house) alter(topic string, kind int8) perr.Code {
	h.t.Helper()
	r := messages.NewPtrAlterMirrorTopicTypeRequest()
	r.MirrorName = "m"
	rt := messages.NewAlterMirrorTopicTypeRequestAlterMirrorTopic()
	rt.TopicName, rt.MirrorType = topic, kind
	r.Topics = append(r.Topics, rt)
	return perr.Code(h.raw(1, r, 0).(*messages.AlterMirrorTopicTypeResponse).Topics[0].ErrorCode)
}

// TestAMirrorNobodyMadeIsUnknown to every request that names it.
func TestAMirrorNobodyMadeIsUnknown(t *testing.T) {
	h := newHouse(t, 1)
	start := messages.NewPtrAddTopicsToMirrorRequest()
	start.MirrorName = "typo"
	stop := messages.NewPtrStopMirrorTopicsRequest()
	stop.MirrorName = "typo"
	for name, got := range map[string]int16{
		"start":    h.raw(1, start, 1).(*messages.AddTopicsToMirrorResponse).ErrorCode,
		"stop":     h.raw(1, stop, 0).(*messages.StopMirrorTopicsResponse).ErrorCode,
		"alter":    int16(h.alter("t", 1)),
		"describe": h.describeMirror("typo").ErrorCode,
	} {
		if perr.Code(got) != perr.UnknownClusterMirror {
			t.Errorf("%s: %s", name, perr.Code(got))
		}
	}
	for name, why := range map[string]*string{
		"start":    h.raw(1, start, 1).(*messages.AddTopicsToMirrorResponse).ErrorMessage,
		"stop":     h.raw(1, stop, 0).(*messages.StopMirrorTopicsResponse).ErrorMessage,
		"describe": h.describeMirror("typo").ErrorMessage,
	} {
		if why == nil || !strings.Contains(*why, `no mirror "typo" in cluster dc1`) || !strings.Contains(*why, "at its destination") {
			t.Errorf("%s: whoever asked the wrong cluster is not told: %v", name, why)
		}
	}
	if len(h.cluster.Mirrors()) != 0 {
		t.Error("a misspelt name made a mirror")
	}
}
