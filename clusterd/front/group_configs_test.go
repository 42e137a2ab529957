package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
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
	answered := make(chan any, 1)
	h.cluster.Group("g", func(ref core.RequestID) group.Command {
		return group.ConfigureGroup{Ref: ref, Group: "g", Set: map[string]string{group.SessionSetting: "50000"}}
	}, func(reply any) { answered <- reply })
	if c := (<-answered).(group.Configured); c.Code != perr.None {
		t.Fatal(c.Code, c.Text)
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
