package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

func (h *house) settingOfGroup(broker int, name, setting string) (value string, source kmsg.ConfigSource) {
	h.t.Helper()
	r := kmsg.NewPtrDescribeConfigsRequest()
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.ConfigNames = kmsg.ConfigResourceTypeGroupConfig, name, []string{setting}
	r.Resources = append(r.Resources, rr)
	got := h.raw(broker, r, 4).(*kmsg.DescribeConfigsResponse).Resources[0]
	if got.ErrorCode != 0 || len(got.Configs) != 1 || got.Configs[0].Value == nil {
		h.t.Fatalf("%s of group %s: %s %+v", setting, name, perr.Code(got.ErrorCode), got.Configs)
	}
	return *got.Configs[0].Value, got.Configs[0].Source
}

// TestAGroupHasSettingsOfItsOwn, which any broker shows, also after a restart.
func TestAGroupHasSettingsOfItsOwn(t *testing.T) {
	h := newHouse(t, 3)
	alter := func(value string) perr.Code {
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		rr := kmsg.NewIncrementalAlterConfigsRequestResource()
		rr.ResourceType, rr.ResourceName = kmsg.ConfigResourceTypeGroupConfig, "g"
		rr.Configs = append(rr.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: group.SessionSetting, Value: &value})
		r.Resources = append(r.Resources, rr)
		return perr.Code(h.raw(2, r, 1).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode)
	}
	if code := alter("50000"); code != perr.None {
		t.Fatal(code)
	}
	if code := alter("1"); code != perr.InvalidConfig {
		t.Errorf("too short a session: %s", code)
	}
	list := kmsg.NewPtrListConfigResourcesRequest()
	list.ResourceTypes = []int8{int8(kmsg.ConfigResourceTypeGroupConfig)}
	if got := h.raw(3, list, 1).(*kmsg.ListConfigResourcesResponse); got.ErrorCode != 0 || len(got.ConfigResources) != 1 || got.ConfigResources[0].Name != "g" || got.ConfigResources[0].Type != 32 {
		t.Errorf("listed: %+v", got)
	}
	list.ResourceTypes = nil
	if got := h.raw(3, list, 1).(*kmsg.ListConfigResourcesResponse); got.ErrorCode != 0 || len(got.ConfigResources) != 4 {
		t.Errorf("all listed: %+v, want three brokers and a group", got)
	}
	if got := h.raw(3, list, 0).(*kmsg.ListConfigResourcesResponse); got.ErrorCode != 0 || len(got.ConfigResources) != 0 {
		t.Errorf("subscriptions to client metrics: %+v", got)
	}
	list.ResourceTypes = []int8{99}
	if got := h.raw(3, list, 1).(*kmsg.ListConfigResourcesResponse); perr.Code(got.ErrorCode) != perr.UnsupportedVersion {
		t.Errorf("a kind nobody knows: %+v", got)
	}
	for range 2 {
		for broker := 1; broker <= 3; broker++ {
			if v, from := h.settingOfGroup(broker, "g", group.SessionSetting); v != "50000" || from != kmsg.ConfigSourceGroupConfig {
				t.Errorf("broker %d: %s from %d", broker, v, from)
			}
			if v, from := h.settingOfGroup(broker, "g", group.HeartbeatSetting); v != "50" || from != kmsg.ConfigSourceDefaultConfig {
				t.Errorf("broker %d, not set: %s from %d", broker, v, from)
			}
		}
		h.restart()
	}
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis, beat.SubscribedTopicNames = "g", "m", 1000, []string{"t"}
	beat.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for broker := 1; broker <= 3; broker++ {
		if resp := h.raw(broker, beat, 1).(*kmsg.ConsumerGroupHeartbeatResponse); resp.ErrorCode == 0 && resp.HeartbeatIntervalMillis != 50 {
			t.Errorf("told to be heard every %d ms", resp.HeartbeatIntervalMillis)
		}
	}
}
