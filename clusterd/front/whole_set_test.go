package front

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

func (h *house) replaceConfigs(kind kmsg.ConfigResourceType, name string, dryRun bool, settings ...string) (perr.Code, string) {
	h.t.Helper()
	r := kmsg.NewPtrAlterConfigsRequest()
	r.ValidateOnly = dryRun
	rr := kmsg.NewAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kind, name
	for pair := range slices.Chunk(settings, 2) {
		c := kmsg.NewAlterConfigsRequestResourceConfig()
		if c.Name = pair[0]; pair[1] != "null" {
			c.Value = &pair[1]
		}
		rr.Configs = append(rr.Configs, c)
	}
	r.Resources = append(r.Resources, rr)
	out := h.raw(1, r, 2).(*kmsg.AlterConfigsResponse).Resources[0]
	why := ""
	if out.ErrorMessage != nil {
		why = *out.ErrorMessage
	}
	return perr.Code(out.ErrorCode), why
}

// TestAWholeSetOfSettingsReplacesTheOthers: what is not named goes back to its default (compat-A01).
func TestAWholeSetOfSettingsReplacesTheOthers(t *testing.T) {
	h := newHouse(t, 1)
	h.create("orders", 1, 1, nil)
	const topic, groups = kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeGroupConfig
	if code, why := h.alterConfigs(topic, "orders", false, set("retention.ms", "1000"), set("cleanup.policy", "compact")); code != 0 {
		t.Fatal(code, why)
	}
	shown := func(want string) {
		t.Helper()
		if got := h.config(topic, "orders", "retention.ms") + " " + h.config(topic, "orders", "cleanup.policy") + " " + h.config(topic, "orders", "segment.ms"); got != want {
			t.Errorf("shown %s, want %s", got, want)
		}
	}
	for _, bad := range []struct {
		kind     kmsg.ConfigResourceType
		name     string
		settings []string
		code     perr.Code
		word     string
	}{
		{topic, "nobody", nil, perr.UnknownTopicOrPartition, ""},
		{topic, "orders", []string{"retention.ms", "soon"}, perr.InvalidConfig, "retention.ms"},
		{topic, "orders", []string{"retention.ms", "1", "retention.ms", "2"}, perr.InvalidConfig, "twice"},
		{topic, "orders", []string{"retention.ms", "null"}, perr.InvalidConfig, "no value"},
		{groups, "g", []string{"nonsense", "1"}, perr.InvalidConfig, "nonsense"},
		{groups, "", nil, perr.InvalidRequest, "empty"},
		{kmsg.ConfigResourceTypeBroker, "1", []string{"num.partitions", "3"}, perr.InvalidRequest, "--set"},
		{clusterMirror, "dr", nil, perr.InvalidRequest, "Incremental"},
	} {
		if code, why := h.replaceConfigs(bad.kind, bad.name, false, bad.settings...); code != bad.code || !strings.Contains(why, bad.word) {
			t.Errorf("%s %v: %v %q", bad.name, bad.settings, code, why)
		}
	}
	if code, why := h.replaceConfigs(topic, "orders", true, "segment.ms", "9"); code != 0 {
		t.Errorf("dry run: %v %s", code, why)
	}
	shown("1000 compact 604800000")
	if code, why := h.replaceConfigs(topic, "orders", false, "segment.ms", "9", "retention.ms", "2000"); code != 0 {
		t.Errorf("%v %s", code, why)
	}
	shown("2000 delete 9")
	if code, why := h.replaceConfigs(topic, "orders", false); code != 0 {
		t.Errorf("%v %s", code, why)
	}
	shown("604800000 delete 604800000")

	for _, settings := range [][]string{{group.SessionSetting, "50000"}, {group.HeartbeatSetting, "6000"}} {
		if code, why := h.replaceConfigs(groups, "g", false, settings...); code != 0 {
			t.Fatal(code, why)
		}
	}
	if a, b := h.config(groups, "g", group.SessionSetting), h.config(groups, "g", group.HeartbeatSetting); a != "45000" || b != "6000" {
		t.Errorf("group: %s %s", a, b)
	}
}

// TestEverySettingIsExplained: types, documentation and synonyms of every resource, in every version.
func TestEverySettingIsExplained(t *testing.T) {
	h := newHouse(t, 1)
	h.create("orders", 1, 1, map[string]*string{"retention.ms": ptr("1000")})
	if code, why := h.alterConfigs(kmsg.ConfigResourceTypeGroupConfig, "g", false, set(group.SessionSetting, "50000")); code != 0 {
		t.Fatal(code, why)
	}
	for version := int16(1); version <= 4; version++ {
		for kind, name := range map[kmsg.ConfigResourceType]string{kmsg.ConfigResourceTypeTopic: "orders", kmsg.ConfigResourceTypeBroker: "1", kmsg.ConfigResourceTypeGroupConfig: "g"} {
			r := kmsg.NewPtrDescribeConfigsRequest()
			r.IncludeSynonyms, r.IncludeDocumentation = true, true
			r.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name}}
			out := h.raw(1, r, version).(*kmsg.DescribeConfigsResponse).Resources[0]
			if out.ErrorCode != 0 || len(out.Configs) == 0 {
				t.Errorf("version %d of %s: %v, %d settings", version, name, perr.Code(out.ErrorCode), len(out.Configs))
			}
			for _, c := range out.Configs {
				if version >= 3 && (c.ConfigType == 0 || c.Documentation == nil) {
					t.Errorf("version %d, %s of %s: type %d, documentation %v", version, c.Name, name, c.ConfigType, c.Documentation)
				}
				if len(c.ConfigSynonyms) > 0 && c.ConfigSynonyms[0].Name == c.Name && (*c.ConfigSynonyms[0].Value != *c.Value || c.ConfigSynonyms[0].Source != c.Source) {
					t.Errorf("%s of %s is %s, its first synonym %s", c.Name, name, *c.Value, *c.ConfigSynonyms[0].Value)
				}
				if own := c.Name == "retention.ms" || c.Name == group.SessionSetting; own && len(c.ConfigSynonyms) != 2 {
					t.Errorf("%s of %s has %d synonyms, want its own value and the default", c.Name, name, len(c.ConfigSynonyms))
				}
			}
		}
	}
}

func ptr(s string) *string { return &s }
