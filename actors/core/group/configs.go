package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Settings that a group may have of its own, by Kafka's names; without one the broker's applies.
const (
	SessionSetting   = "consumer.session.timeout.ms"
	HeartbeatSetting = "consumer.heartbeat.interval.ms"
)

// GroupSettings lists them.
var GroupSettings = []string{HeartbeatSetting, SessionSetting}

// ConfigureGroup sets and deletes settings of one group, which need not exist: all of them, or none. Answered by
// Configured.
type ConfigureGroup struct {
	Ref    core.RequestID
	Group  string
	Set    map[string]string
	Delete []string
	DryRun bool
}

// DescribeConfig asks which settings a group has of its own. Answered by Configured.
type DescribeConfig struct {
	Ref   core.RequestID
	Group string
}

// ListConfigured asks which groups of the shard have settings of their own. Answered by ConfiguredListed.
type ListConfigured struct{ Ref core.RequestID }

// ConfiguredListed answers ListConfigured, sorted.
type ConfiguredListed struct {
	Ref    core.RequestID
	Groups []string
}

// Configured answers ConfigureGroup and DescribeConfig.
type Configured struct {
	Ref      core.RequestID
	Code     perr.Code
	Text     string
	Settings map[string]string // of the group's own
	Defaults map[string]string // what applies without them
}

// ReplyTo names the request.
func (e ConfiguredListed) ReplyTo() core.RequestID { return e.Ref }

// ReplyTo names the request.
func (e Configured) ReplyTo() core.RequestID { return e.Ref }

func (ConfigureGroup) isCommand()  {}
func (DescribeConfig) isCommand()  {}
func (Configured) isEffect()       {}
func (ListConfigured) isCommand()  {}
func (ConfiguredListed) isEffect() {}

func (s *State) configure(c ConfigureGroup) outcome {
	var out outcome
	reply := Configured{Ref: c.Ref, Settings: maps.Clone(s.configs[c.Group]), Defaults: s.settings.groupDefaults()}
	if reply.Settings == nil {
		reply.Settings = map[string]string{}
	}
	for _, name := range c.Delete {
		delete(reply.Settings, name)
	}
	maps.Copy(reply.Settings, c.Set)
	ev := GroupConfigured{Group: c.Group}
	for _, name := range slices.Sorted(maps.Keys(reply.Settings)) {
		ev.Settings = append(ev.Settings, GroupSettingRecord{Name: name, Value: reply.Settings[name]})
	}
	reply.Code, reply.Text = s.judge(c, reply.Settings)
	if reply.Code == 0 && !c.DryRun && !maps.Equal(reply.Settings, s.configs[c.Group]) {
		out.Events = append(out.Events, ev)
	}
	answer(&out, reply)
	return out
}

func (s *State) judge(c ConfigureGroup, all map[string]string) (perr.Code, string) {
	known := func(name string) bool { return slices.Contains(GroupSettings, name) }
	for _, name := range slices.Concat(c.Delete, slices.Sorted(maps.Keys(all))) {
		if !known(name) {
			return perr.InvalidConfig, fmt.Sprintf("groups have no setting %s; they have %s and %s", name, HeartbeatSetting, SessionSetting)
		}
	}
	for _, name := range GroupSettings {
		bounds := s.settings.groupBounds()[name]
		text, given := all[name]
		if !given {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 32); err != nil || n < bounds[0] || n > bounds[1] {
			return perr.InvalidConfig, fmt.Sprintf("%s=%s of group %s; it must be a number from %d to %d", name, text, c.Group, bounds[0], bounds[1])
		}
	}
	if session, beat := s.settings.of(all); beat >= session {
		return perr.InvalidConfig, fmt.Sprintf("%s of group %s would be %d and %s %d; a member must be heard more often than its session ends", HeartbeatSetting, c.Group, beat, SessionSetting, session)
	}
	if more := groupBytes(c.Group); boundGroups && s.configs[c.Group] == nil && len(all) > 0 && s.kept+more > s.settings.MaxShardBytes {
		return perr.CoordinatorLoadInProgress, fmt.Sprintf("the coordinator of group %s holds %d bytes of groups and offsets, lockstep.group.shard.max.bytes is %d: raise it", c.Group, s.kept, s.settings.MaxShardBytes)
	}
	return 0, ""
}

// groupBounds are the least and the most that a group may set.
func (s Settings) groupBounds() map[string][2]int64 {
	return map[string][2]int64{
		SessionSetting:   {s.MinConsumerSessionMs, s.MaxConsumerSessionMs},
		HeartbeatSetting: {s.MinHeartbeatMs, s.MaxHeartbeatMs},
	}
}

func (s Settings) groupDefaults() map[string]string {
	return map[string]string{SessionSetting: strconv.FormatInt(s.ConsumerSessionMs, 10), HeartbeatSetting: strconv.FormatInt(s.HeartbeatMs, 10)}
}

// of is the session time-out and the heartbeat interval, ms, with a group's own settings.
func (s Settings) of(own map[string]string) (session, beat int64) {
	session, beat = s.ConsumerSessionMs, s.HeartbeatMs
	if n, err := strconv.ParseInt(own[SessionSetting], 10, 64); err == nil {
		session = n
	}
	if n, err := strconv.ParseInt(own[HeartbeatSetting], 10, 64); err == nil {
		beat = n
	}
	return session, beat
}

// session is how long a member of a group may be silent, ns.
func (s *State) session(group string) int64 {
	session, _ := s.settings.of(s.configs[group])
	return session * ms
}

func (s *State) listConfigured(c ListConfigured) outcome {
	var out outcome
	answer(&out, ConfiguredListed{Ref: c.Ref, Groups: slices.Sorted(maps.Keys(s.configs))})
	return out
}

func (s *State) config(c DescribeConfig) outcome {
	var out outcome
	answer(&out, Configured{Ref: c.Ref, Settings: maps.Clone(s.configs[c.Group]), Defaults: s.settings.groupDefaults()})
	return out
}

func (s *State) configured(ev GroupConfigured) {
	if s.configs[ev.Group] != nil {
		s.kept -= groupBytes(ev.Group)
		delete(s.configs, ev.Group)
	}
	if len(ev.Settings) == 0 {
		return
	}
	own := map[string]string{}
	for _, r := range ev.Settings {
		own[r.Name] = r.Value
	}
	s.configs[ev.Group] = own
	s.kept += groupBytes(ev.Group)
}

// configRecords are the settings of all groups for a snapshot.
func (s *State) configRecords() (list []GroupConfigured) {
	for _, group := range slices.Sorted(maps.Keys(s.configs)) {
		r := GroupConfigured{Group: group}
		for _, name := range slices.Sorted(maps.Keys(s.configs[group])) {
			r.Settings = append(r.Settings, GroupSettingRecord{Name: name, Value: s.configs[group][name]})
		}
		list = append(list, r)
	}
	return list
}
