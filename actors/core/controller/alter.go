package controller

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// AlterTopic changes overrides of a topic. Answered with Done.
type AlterTopic struct {
	Ref    core.RequestID
	ID     core.TopicID
	Set    map[string]string
	Delete []string // back to the broker's value, or the default
	Whole  bool     // Set is all overrides from now on (AlterConfigs)
	DryRun bool
}

func (AlterTopic) isCommand() {}

// alterTopic takes all changes or none. What a name means is in the table of settings; leaders read it in their images, so
// that a change counts as soon as their brokers have it.
func (s *State) alterTopic(c AlterTopic) outcome {
	t := s.topics[c.ID]
	if t == nil {
		return reply(outcome{}, Done{Ref: c.Ref, Code: perr.UnknownTopicOrPartition, Text: fmt.Sprintf("no topic has id %s", c.ID)})
	}
	now := map[string]string{}
	if !c.Whole {
		for _, r := range t.settings {
			now[r.Name] = r.Value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		if text := CheckTopicSetting(name, c.Set[name]); text != "" {
			return reply(outcome{}, Done{Ref: c.Ref, Code: perr.InvalidConfig, Text: "topic " + t.name + ": " + text})
		}
		now[name] = c.Set[name]
	}
	for _, name := range c.Delete {
		if s, known := FindSetting(name); !known || s.Scope&TopicScope == 0 {
			return reply(outcome{}, Done{Ref: c.Ref, Code: perr.InvalidConfig, Text: fmt.Sprintf("topic %s: %q is no setting of topics", t.name, name)})
		}
		delete(now, name)
	}
	ev := TopicConfigured{Topic: c.ID}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		ev.Settings = append(ev.Settings, SettingRecord{Name: name, Value: now[name]})
	}
	if c.DryRun || slices.Equal(ev.Settings, t.settings) {
		return reply(outcome{}, Done{Ref: c.Ref})
	}
	next := *t
	next.settings = ev.Settings
	return reply(publish(outcome{Events: []Event{ev}}, image.TopicChanged{Topic: s.told(&next)}), Done{Ref: c.Ref})
}
