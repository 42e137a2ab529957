package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// AlterBroker changes settings of a running broker, or of all that have none of their own. Answered with Done.
type AlterBroker struct {
	Ref    core.RequestID
	Broker core.ReplicaID // NoReplica: all
	Set    map[string]string
	Delete []string // back to what is set for all, what the process was started with, or the default
	Whole  bool     // Set is all of them from now on (AlterConfigs)
	DryRun bool
}

func (AlterBroker) isCommand() {}

// maxBrokerValue bounds the length of one value, in bytes.
const maxBrokerValue = 64 << 10

// alterBroker takes all changes or none. What is deleted need not be set, nor be a setting, as in Kafka.
func (s *State) alterBroker(c AlterBroker) outcome {
	if _, known := s.brokers[c.Broker]; !known && c.Broker != core.NoReplica {
		return reply(outcome{}, s.noSuchBroker(c.Ref, c.Broker))
	}
	before := s.brokerSets[c.Broker].Settings
	now := map[string]string{}
	if !c.Whole {
		for _, r := range before {
			now[r.Name] = r.Value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		if text := CheckBrokerSetting(name, c.Set[name], c.Broker == core.NoReplica); text != "" {
			return reply(outcome{}, Done{Ref: c.Ref, Code: perr.InvalidRequest, Text: text})
		}
		now[name] = c.Set[name]
	}
	for _, name := range c.Delete {
		delete(now, name)
	}
	record := BrokerSettingsRecord{Broker: c.Broker}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		record.Settings = append(record.Settings, SettingRecord{Name: name, Value: now[name]})
	}
	if c.DryRun || slices.Equal(record.Settings, before) {
		return reply(outcome{}, Done{Ref: c.Ref})
	}
	ev := BrokerConfigured{Settings: record}
	return reply(publish(outcome{Events: []Event{ev}}, s.brokerConfigured(ev)...), Done{Ref: c.Ref})
}

// brokerConfigured is what brokers are told: the settings, and topics that count in-sync replicas otherwise from now on.
func (s *State) brokerConfigured(ev BrokerConfigured) []image.Fact {
	facts := []image.Fact{settingsFact(ev.Settings)}
	const counted = "min.insync.replicas"
	was, _ := s.forAll(counted)
	if is, _ := lookUp(ev.Settings.Settings, counted); ev.Settings.Broker != core.NoReplica || was == is {
		return facts
	}
	after := s.with(ev)
	for _, t := range after.inOrder() {
		if _, own := t.setting(counted); !own {
			facts = append(facts, image.TopicChanged{Topic: after.told(t)})
		}
	}
	return facts
}

// CheckBrokerSetting says what is wrong with a setting of a running broker, or of all, "" if nothing is.
func CheckBrokerSetting(name, value string, all bool) string {
	s, known := FindSetting(name)
	switch {
	case !known || s.Scope&BrokerScope == 0:
		return fmt.Sprintf("%q (value %q) is no setting of brokers here; kafka-configs --describe --all lists those that are", name, value)
	case s.Scope&(DynamicScope|ClusterScope) == 0:
		return fmt.Sprintf("Cannot update these configs dynamically: %s; give it at start with --set %s=%s", name, name, value)
	case s.Scope&DynamicScope == 0 && !all:
		return fmt.Sprintf("%s counts for the whole cluster: set it for all brokers (--entity-default), or on topics", name)
	case len(value) > maxBrokerValue:
		return fmt.Sprintf("%s has a value of %d bytes; %d are the most", name, len(value), maxBrokerValue)
	}
	return s.Check(value)
}

// forAll is what an operator set for all running brokers.
func (s *State) forAll(name string) (string, bool) {
	return lookUp(s.brokerSets[core.NoReplica].Settings, name)
}

func (s *State) setBroker(r BrokerSettingsRecord) {
	if len(r.Settings) == 0 {
		delete(s.brokerSets, r.Broker)
	} else {
		s.brokerSets[r.Broker] = r
	}
}

func (s *State) brokerSetsInOrder() []BrokerSettingsRecord {
	return slices.SortedFunc(maps.Values(s.brokerSets), func(a, b BrokerSettingsRecord) int { return cmp.Compare(a.Broker, b.Broker) })
}

func settingsFact(r BrokerSettingsRecord) image.Fact {
	f := image.SettingsChanged{Broker: r.Broker, Values: make(map[string]string, len(r.Settings))}
	for _, v := range r.Settings {
		f.Values[v.Name] = v.Value
	}
	return f
}
