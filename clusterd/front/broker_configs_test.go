package front

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// explained is a setting with its source and all its synonyms, as name=value(source).
func (h *house) explained(broker int, kind kmsg.ConfigResourceType, name, key string) string {
	h.t.Helper()
	r := kmsg.NewPtrDescribeConfigsRequest()
	r.IncludeSynonyms = true
	r.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: []string{key}}}
	var all []string
	for _, c := range h.raw(broker, r, 4).(*kmsg.DescribeConfigsResponse).Resources[0].Configs {
		value := "null"
		if c.Value != nil {
			value = *c.Value
		}
		all = append(all, fmt.Sprintf("%s %v %v:", value, c.Source, c.ReadOnly))
		for _, s := range c.ConfigSynonyms {
			all = append(all, fmt.Sprintf("%s=%s(%v)", s.Name, *s.Value, s.Source))
		}
	}
	return strings.Join(all, " ")
}

// Settings of running brokers, their own and those of all, as Kafka tells them; compat-A02.
func TestSettingsOfRunningBrokers(t *testing.T) {
	h := newHouse(t, 2)
	h.withSettings(map[string]string{"log.retention.hours": "2"})
	h.create("orders", 1, 2, nil)
	const brokers, topic = kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic
	for _, c := range []struct {
		broker    int
		kind      kmsg.ConfigResourceType
		name, key string
		want      string
	}{
		{1, brokers, "1", "log.retention.ms", "null DEFAULT_CONFIG false:"},
		{1, brokers, "1", "log.retention.hours", "2 STATIC_BROKER_CONFIG true: log.retention.hours=2(STATIC_BROKER_CONFIG) log.retention.hours=168(DEFAULT_CONFIG)"},
		{1, brokers, "1", "log.cleaner.backoff.ms", "15000 DEFAULT_CONFIG false: log.cleaner.backoff.ms=15000(DEFAULT_CONFIG)"},
		{1, brokers, "", "log.cleaner.backoff.ms", ""},
		{1, topic, "orders", "retention.ms", "7200000 STATIC_BROKER_CONFIG false: log.retention.hours=2(STATIC_BROKER_CONFIG) log.retention.hours=168(DEFAULT_CONFIG)"},
	} {
		if got := h.explained(c.broker, c.kind, c.name, c.key); got != c.want {
			t.Errorf("at first %s of %q: %s, want %s", c.key, c.name, got, c.want)
		}
	}
	for _, step := range []struct {
		name string
		op   op
	}{{"", set("log.retention.ms", "5000")}, {"1", set("log.retention.ms", "6000")}, {"1", set("log.cleaner.backoff.ms", "15001")}, {"", set("min.insync.replicas", "2")}} {
		if code, why := h.alterConfigs(brokers, step.name, true, step.op); code != 0 {
			t.Fatal(code, why)
		}
		if code, why := h.alterConfigs(brokers, step.name, false, step.op); code != 0 {
			t.Fatal(code, why)
		}
	}
	waitFor(t, "broker 2 to hear of it", func() bool { return len(h.cluster.Brokers()[1].Image().Settings) == 2 })
	for _, c := range []struct {
		broker    int
		kind      kmsg.ConfigResourceType
		name, key string
		want      string
	}{
		{1, brokers, "1", "log.retention.ms", "6000 DYNAMIC_BROKER_CONFIG false: log.retention.ms=6000(DYNAMIC_BROKER_CONFIG) log.retention.ms=5000(DYNAMIC_DEFAULT_BROKER_CONFIG) log.retention.hours=2(STATIC_BROKER_CONFIG) log.retention.hours=168(DEFAULT_CONFIG)"},
		{2, brokers, "2", "log.retention.ms", "5000 DYNAMIC_DEFAULT_BROKER_CONFIG false: log.retention.ms=5000(DYNAMIC_DEFAULT_BROKER_CONFIG) log.retention.hours=2(STATIC_BROKER_CONFIG) log.retention.hours=168(DEFAULT_CONFIG)"},
		{1, brokers, "", "log.retention.ms", "5000 DYNAMIC_DEFAULT_BROKER_CONFIG false: log.retention.ms=5000(DYNAMIC_DEFAULT_BROKER_CONFIG)"},
		{1, brokers, "1", "log.cleaner.backoff.ms", "15001 DYNAMIC_BROKER_CONFIG false: log.cleaner.backoff.ms=15001(DYNAMIC_BROKER_CONFIG) log.cleaner.backoff.ms=15000(DEFAULT_CONFIG)"},
		{1, topic, "orders", "min.insync.replicas", "2 DYNAMIC_DEFAULT_BROKER_CONFIG false: min.insync.replicas=2(DYNAMIC_DEFAULT_BROKER_CONFIG)"},
	} {
		if got := h.explained(c.broker, c.kind, c.name, c.key); got != c.want {
			t.Errorf("%s of %q at broker %d: %s, want %s", c.key, c.name, c.broker, got, c.want)
		}
	}
	if code, why := h.replaceConfigs(brokers, "1", false, "log.retention.bytes", "7"); code != 0 {
		t.Fatal(code, why)
	}
	if got := h.config(brokers, "1", "log.retention.ms") + " " + h.config(brokers, "1", "log.retention.bytes"); got != "5000 7" {
		t.Errorf("a whole set leaves %s", got)
	}
	if code, why := h.alterConfigs(brokers, "1", false, op{Name: "log.retention.bytes", Op: kmsg.IncrementalAlterConfigOpDelete}, op{Name: "no.such.setting", Op: kmsg.IncrementalAlterConfigOpDelete}); code != 0 {
		t.Errorf("deleted: %v %s", code, why)
	}
	item := "compact"
	if code, why := h.alterConfigs(brokers, "", false, op{Name: "log.cleanup.policy", Op: kmsg.IncrementalAlterConfigOpAppend, Value: &item}); code != 0 || h.config(topic, "orders", "cleanup.policy") != "delete,compact" {
		t.Errorf("appended: %v %s, topics have %s", code, why, h.config(topic, "orders", "cleanup.policy"))
	}
}

// What brokers are told while they run counts from the next batch and the next connection on.
func TestSettingsOfRunningBrokersCount(t *testing.T) {
	h := newHouse(t, 1)
	h.create("orders", 1, 1, nil)
	const brokers = kmsg.ConfigResourceTypeBroker
	write := func() perr.Code {
		return perr.Code(h.produceOnce("orders", 9, -1, oneRecord(plain, strings.Repeat("x", 300))).ErrorCode)
	}
	if code := write(); code != perr.None {
		t.Fatal(code)
	}
	if code, why := h.alterConfigs(brokers, "", false, set("message.max.bytes", "200")); code != 0 {
		t.Fatal(code, why)
	}
	if code := write(); code != perr.MessageTooLarge {
		t.Errorf("a batch above message.max.bytes is answered with %s", code.Name())
	}
	if code, why := h.alterConfigs(kmsg.ConfigResourceTypeTopic, "orders", false, set("max.message.bytes", "1000")); code != 0 {
		t.Fatal(code, why)
	}
	if code := write(); code != perr.None {
		t.Errorf("a batch within the topic's own bound is answered with %s", code.Name())
	}

	held := dial(t, h.addrs[0])
	if !served(t, held) {
		t.Fatal("a connection is not served")
	}
	if code, why := h.alterConfigs(brokers, "1", false, set("max.connections.per.ip", "1")); code != 0 {
		t.Fatal(code, why)
	}
	closes(t, h.addrs[0], nil)
	if !served(t, held) {
		t.Error("a connection ended because of a lower limit")
	}
}
