package front

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// Settings of single groups (resource type 32). Any broker may be asked: the shards of all groups are in this process.

// groupSettings says what the settings of a group mean.
var groupSettings = map[string]string{
	group.HeartbeatSetting: "How often members of the group's consumer protocol are told to be heard.",
	group.SessionSetting:   "How long a member of the group's consumer protocol may be silent before it loses its place.",
}

// withGroups asks for the settings of the groups among the resources, and then calls f, which may run on a shard's
// goroutine. A group whose shard failed is not in the map.
func (f *Front) withGroups(from Client, resources []kmsg.DescribeConfigsRequestResource, answer func(map[string]group.Configured)) {
	var names []string
	for _, rr := range resources {
		if rr.ResourceType == kmsg.ConfigResourceTypeGroupConfig && rr.ResourceName != "" && f.sees(from, access.DescribeConfigs, access.Group, rr.ResourceName) {
			names = append(names, rr.ResourceName)
		}
	}
	var mu sync.Mutex
	found := map[string]group.Configured{}
	done := countdown(len(names), func() { answer(found) })
	for _, name := range names {
		f.cluster.Group(name, func(ref core.RequestID) group.Command {
			return group.DescribeConfig{Ref: ref, Group: name}
		}, func(reply any) {
			if c, ok := reply.(group.Configured); ok {
				mu.Lock()
				found[name] = c
				mu.Unlock()
			}
			done()
		})
	}
}

func settingsOfGroup(groups map[string]group.Configured, name string) ([]setting, perr.Code, string) {
	if name == "" {
		return nil, perr.InvalidRequest, "the group id is empty"
	}
	c, ok := groups[name]
	if !ok {
		return nil, perr.CoordinatorNotAvailable, "the coordinator of group " + name + " does not answer; try again"
	}
	var list []setting
	for _, key := range group.GroupSettings {
		s := setting{Setting: controller.Setting{Name: key, Type: controller.Int, Meaning: groupSettings[key]}}
		if own, given := c.Settings[key]; given {
			s.synonyms = append(s.synonyms, synonym{value: own, source: kmsg.ConfigSourceGroupConfig})
		}
		s.synonyms = append(s.synonyms, synonym{value: c.Defaults[key], source: kmsg.ConfigSourceDefaultConfig})
		s.settle()
		list = append(list, s)
	}
	return list, perr.None, ""
}

func (f *Front) alterGroup(rr *kmsg.IncrementalAlterConfigsRequestResource, dryRun bool, answer func(perr.Code, string)) {
	set, deleted, why := altered(nil, rr.Configs)
	switch {
	case rr.ResourceName == "":
		answer(perr.InvalidRequest, "the group id is empty")
		return
	case why != "":
		answer(perr.InvalidConfig, "group "+rr.ResourceName+": "+why)
		return
	}
	f.setGroup(group.ConfigureGroup{Group: rr.ResourceName, Set: set, Delete: deleted, DryRun: dryRun}, answer)
}

func (f *Front) setGroup(c group.ConfigureGroup, answer func(perr.Code, string)) {
	f.cluster.Group(c.Group, func(ref core.RequestID) group.Command { c.Ref = ref; return c }, func(reply any) {
		if done, ok := reply.(group.Configured); ok {
			answer(done.Code, done.Text)
			return
		}
		answer(perr.CoordinatorNotAvailable, "the coordinator of group "+c.Group+" does not answer; try again")
	})
}
