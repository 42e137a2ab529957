package front

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

type op = kmsg.IncrementalAlterConfigsRequestResourceConfig

func (h *house) alterConfigs(kind kmsg.ConfigResourceType, name string, dryRun bool, ops ...op) (perr.Code, string) {
	h.t.Helper()
	r := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r.ValidateOnly = dryRun
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.Configs = kind, name, ops
	r.Resources = append(r.Resources, rr)
	out := h.raw(1, r, 1).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
	why := ""
	if out.ErrorMessage != nil {
		why = *out.ErrorMessage
	}
	return perr.Code(out.ErrorCode), why
}

func (h *house) config(kind kmsg.ConfigResourceType, name, key string) string {
	h.t.Helper()
	r := kmsg.NewPtrDescribeConfigsRequest()
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.ConfigNames = kind, name, []string{key}
	r.Resources = append(r.Resources, rr)
	for _, c := range h.raw(1, r, 4).(*kmsg.DescribeConfigsResponse).Resources[0].Configs {
		return *c.Value
	}
	return ""
}

func set(name, value string) op {
	return op{Name: name, Op: kmsg.IncrementalAlterConfigOpSet, Value: &value}
}

func TestSettingsOfTopicsAreAltered(t *testing.T) {
	h := newHouse(t, 1)
	h.create("orders", 1, 1, nil)
	const topic, follow = kmsg.ConfigResourceTypeTopic, "mirror.support.unclean.leader.election"
	if code, why := h.alterConfigs(topic, "orders", false, set(follow, "true"), set("retention.ms", "1000")); code != 0 {
		t.Fatal(code, why)
	}
	if a, b := h.config(topic, "orders", follow), h.config(topic, "orders", "retention.ms"); a != "true" || b != "1000" {
		t.Errorf("shown %q and %q", a, b)
	}
	if code, _ := h.alterConfigs(topic, "orders", false, op{Name: follow, Op: kmsg.IncrementalAlterConfigOpDelete}); code != 0 || h.config(topic, "orders", follow) != "false" {
		t.Errorf("deleted: %v, %q", code, h.config(topic, "orders", follow))
	}
	if code, why := h.alterConfigs(topic, "orders", false, op{Name: "remote.storage.enable", Op: kmsg.IncrementalAlterConfigOpDelete}, set("retention.ms", "1001")); code != 0 || h.config(topic, "orders", "retention.ms") != "1001" {
		t.Errorf("deleting what nobody knows: %v %s", code, why)
	}
	h.alterConfigs(topic, "orders", false, set("retention.ms", "1000"))
	comma := "delete,compact"
	if code, why := h.alterConfigs(topic, "orders", false, op{Name: "cleanup.policy", Op: kmsg.IncrementalAlterConfigOpAppend, Value: &comma}); code != 0 || h.config(topic, "orders", "cleanup.policy") != comma {
		t.Errorf("appended: %v %s, %q", code, why, h.config(topic, "orders", "cleanup.policy"))
	}
	for _, bad := range []struct {
		kind kmsg.ConfigResourceType
		name string
		ops  []op
		code perr.Code
		word string
	}{
		{topic, "nobody", []op{set("retention.ms", "1")}, perr.UnknownTopicOrPartition, ""},
		{topic, "orders", []op{set("retention.ms", "soon")}, perr.InvalidConfig, "retention.ms"},
		{topic, "orders", []op{set("retention.ms", "1"), set("retention.ms", "2")}, perr.InvalidConfig, "twice"},
		{topic, "orders", []op{{Name: "retention.ms", Op: kmsg.IncrementalAlterConfigOpAppend, Value: &comma}}, perr.InvalidConfig, "not a list"},
		{topic, "orders", []op{{Name: "retention.ms"}}, perr.InvalidConfig, "no value"},
		{kmsg.ConfigResourceTypeBroker, "1", []op{set("num.partitions", "3")}, perr.InvalidRequest, "--set"},
		{kmsg.ConfigResourceTypeBroker, "2", []op{set("log.retention.ms", "3")}, perr.InvalidRequest, "ask broker 2"},
		{kmsg.ConfigResourceTypeBroker, "one", []op{set("log.retention.ms", "3")}, perr.InvalidRequest, "one"},
		{kmsg.ConfigResourceTypeBroker, "1", []op{set("max.connections.per.ip.overrides", "host:1")}, perr.InvalidRequest, "host:1"},
		{clusterMirror, "nobody", []op{set("fetch.max.bytes", "3")}, perr.UnknownClusterMirror, "nobody"},
	} {
		if code, why := h.alterConfigs(bad.kind, bad.name, false, bad.ops...); code != bad.code || !strings.Contains(why, bad.word) {
			t.Errorf("%s %v: %v %q", bad.name, bad.ops, code, why)
		}
	}
	if code, _ := h.alterConfigs(topic, "orders", true, set("retention.ms", "7")); code != 0 || h.config(topic, "orders", "retention.ms") != "1000" {
		t.Errorf("dry run: %v, %q", code, h.config(topic, "orders", "retention.ms"))
	}
}

// A list is changed as it counts: "compact" beside the default is both policies. It became the only one, and retention
// stopped.
func TestAListIsChangedAsItCounts(t *testing.T) {
	h := newHouse(t, 1)
	h.settings["log.cleanup.policy"] = "compact"
	h.restart()
	const topic = kmsg.ConfigResourceTypeTopic
	change := func(name, items string, how kmsg.IncrementalAlterConfigOp) string {
		t.Helper()
		if code, why := h.alterConfigs(topic, name, false, op{Name: "cleanup.policy", Op: how, Value: &items}); code != perr.None {
			t.Fatal(code, why)
		}
		return h.config(topic, name, "cleanup.policy")
	}
	h.create("t", 1, 1, nil)
	if got := change("t", "delete", kmsg.IncrementalAlterConfigOpAppend); got != "compact,delete" {
		t.Errorf("delete beside what brokers have: %q", got)
	}
	if got := change("t", "compact", kmsg.IncrementalAlterConfigOpSubtract); got != "delete" {
		t.Errorf("without compact: %q", got)
	}
	delete(h.settings, "log.cleanup.policy")
	h.restart()
	h.create("u", 1, 1, nil)
	if got := change("u", "compact", kmsg.IncrementalAlterConfigOpAppend); got != "delete,compact" {
		t.Errorf("compact beside the default: %q", got)
	}
}

// Of two changes of one resource neither is made: the second was refused and the first made, under the same name in the
// answer, of which clients read the last.
func TestAResourceNamedTwiceIsNotAltered(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	h.create("u", 1, 1, nil)
	whole, single := kmsg.NewPtrAlterConfigsRequest(), kmsg.NewPtrIncrementalAlterConfigsRequest()
	for i, name := range []string{"t", "u", "t"} {
		value := strconv.Itoa(1000 + i)
		one := kmsg.NewAlterConfigsRequestResource()
		one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeTopic, name
		one.Configs = append(one.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: "retention.ms", Value: &value})
		whole.Resources = append(whole.Resources, one)
		other := kmsg.NewIncrementalAlterConfigsRequestResource()
		other.ResourceType, other.ResourceName, other.Configs = kmsg.ConfigResourceTypeTopic, name, []op{set("retention.ms", value)}
		single.Resources = append(single.Resources, other)
	}
	want := []perr.Code{perr.InvalidRequest, perr.None, perr.InvalidRequest}
	for i, out := range h.raw(1, whole, 2).(*kmsg.AlterConfigsResponse).Resources {
		if perr.Code(out.ErrorCode) != want[i] {
			t.Errorf("whole, %s: %s", out.ResourceName, perr.Code(out.ErrorCode))
		}
	}
	for i, out := range h.raw(1, single, 1).(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if perr.Code(out.ErrorCode) != want[i] {
			t.Errorf("incremental, %s: %s", out.ResourceName, perr.Code(out.ErrorCode))
		}
	}
	if got := h.config(kmsg.ConfigResourceTypeTopic, "t", "retention.ms"); got != "604800000" {
		t.Errorf("retention.ms is %s", got)
	}
}

// An empty list of names asks for all settings, as a null one does: clients that never touch the field send it.
func TestNoNamesAreAllSettings(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	count := func(names ...[]string) int {
		r := kmsg.NewPtrDescribeConfigsRequest()
		for _, list := range names {
			rr := kmsg.NewDescribeConfigsRequestResource()
			rr.ResourceType, rr.ResourceName, rr.ConfigNames = kmsg.ConfigResourceTypeTopic, "t", list
			r.Resources = append(r.Resources, rr)
		}
		return len(h.raw(1, r, 4).(*kmsg.DescribeConfigsResponse).Resources[0].Configs)
	}
	all, one := count(nil), []string{"retention.ms"}
	if all < 20 || count([]string{}) != all || count(one, []string{}) != all || count([]string{}, one) != all || count(one, one) != 1 {
		t.Errorf("%d settings; for empty lists %d, %d, %d", all, count([]string{}), count(one, []string{}), count([]string{}, one))
	}
}

// What a mirror was created with may be altered; whom it follows may not.
func TestSettingsOfMirrorsAreAltered(t *testing.T) {
	source, h := newHouseOf(t, "dc1", 1), newHouseOf(t, "dc2", 1)
	if r := h.createMirror("dr", bootstrapServers, source.addrs[0], "fetch.max.bytes", "1000"); r.ErrorCode != 0 {
		t.Fatal(perr.Code(r.ErrorCode), *r.ErrorMessage)
	}
	if code, why := h.alterConfigs(clusterMirror, "dr", false, set("mirror.replication.throttled.rate", "5000"), op{Name: "fetch.max.bytes", Op: kmsg.IncrementalAlterConfigOpDelete}); code != 0 {
		t.Fatal(code, why)
	}
	if a, b := h.config(clusterMirror, "dr", "mirror.replication.throttled.rate"), h.config(clusterMirror, "dr", "fetch.max.bytes"); a != "5000" || b != "" {
		t.Errorf("shown %q and %q", a, b)
	}
	for _, bad := range []op{set("source.cluster.id", "dc3"), set("mirror.replication.throttled.rate", "fast"), set("lockstep.sync.min.class", "best"), set(bootstrapServers, "")} {
		if code, why := h.alterConfigs(clusterMirror, "dr", false, bad); code != perr.InvalidConfig || why == "" {
			t.Errorf("%s=%s: %v %q", bad.Name, *bad.Value, code, why)
		}
	}
}

// worked is the processor time of this process: a busy machine takes longer by the clock.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Each setting was compared with all before it, and each item of a list: megabytes of short names took minutes.
func TestManySettingsAreReadInOnePass(t *testing.T) {
	const many = 300_000
	names := make([]string, many)
	ops := make([]op, many)
	for i := range names {
		names[i] = strconv.Itoa(i)
		ops[i] = set(names[i], "")
	}
	list := strings.Join(names, ",")
	for what, do := range map[string]func(){
		"settings":      func() { altered(nil, ops) },
		"items added":   func() { listed("", list, true) },
		"items removed": func() { listed(list, list, false) },
	} {
		began := worked(t)
		do()
		if took := worked(t) - began; took > 10*time.Second {
			t.Errorf("%d %s took %v", many, what, took)
		}
	}
	if got := listed("a,b", "b,c,c", true); got != "a,b,c" {
		t.Errorf("added: %q", got)
	}
	if got := listed("a,,b", ",c,", true) + " " + listed("a", "", true) + " " + listed("", "", true); got != "a,b,c a " {
		t.Errorf("nothing between commas: %q", got)
	}
	if got := listed("a,b,c", "a,c,x", false); got != "b" {
		t.Errorf("removed: %q", got)
	}
	if _, _, why := altered(nil, []op{set("a", "1"), set("b", "1"), set("a", "2")}); why != "a is named twice" {
		t.Errorf("twice: %q", why)
	}
}
