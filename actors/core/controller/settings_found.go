package controller

import (
	"slices"
	"strconv"
	"strings"
)

// Layers are the places where a setting may be found, each by Kafka's names. Nil ones are empty.
type Layers struct {
	Topic   map[string]string // what a topic overrides
	Broker  map[string]string // what an operator set for this running broker
	Cluster map[string]string // what an operator set for all running brokers
	Static  map[string]string // what the process was started with
}

// Place is one of these layers, or the table itself.
type Place uint8

const (
	FromTopic Place = iota + 1
	FromBroker
	FromCluster
	FromStart
	FromTable
)

// Found is a value of a setting, or of one that stands for it, where it was found.
type Found struct {
	Name  string
	Value string // in the unit of Name
	In    Place
}

// Find lists where a setting has values, the one that counts first, and that value in the setting's own unit: "" where
// nothing is set and the default is computed or none. A topic's setting goes by those that brokers have for it. Of those, a
// name comes before the next one in every layer, as in Kafka.
func (s Setting) Find(l Layers) (value string, found []Found) {
	names := s.Defaults
	if s.Scope&TopicScope == 0 || len(names) == 0 {
		names = append([]Synonym{{Name: s.Name}}, names...)
	}
	add := func(name string, in Place, values map[string]string) {
		if v, set := values[name]; set {
			found = append(found, Found{name, v, in})
		}
	}
	if s.Scope&TopicScope != 0 {
		add(s.Name, FromTopic, l.Topic)
	}
	var table []Found
	for _, n := range names {
		add(n.Name, FromBroker, l.Broker)
		add(n.Name, FromCluster, l.Cluster)
		add(n.Name, FromStart, l.Static)
		if of, known := FindSetting(n.Name); known && of.Default != "" {
			table = append(table, Found{n.Name, of.Default, FromTable})
		}
	}
	if s.Scope&TopicScope != 0 && names[0].Name != s.Name {
		add(s.Name, FromStart, l.Static) // --set takes names of topics, too
	}
	if s.Scope&TopicScope == 0 && (len(found) == 0 || found[0].Name != s.Name) && s.Default == "" {
		return "", nil // one that stands behind it counts where topics are asked about
	}
	if found = append(found, table...); len(found) == 0 {
		return s.Default, nil
	}
	return s.own(found[0]), found
}

// Effective is the value of the setting of that name that counts.
func (l Layers) Effective(name string) string {
	s, known := FindSetting(name)
	if !known {
		panic("controller: no setting " + name)
	}
	v, _ := s.Find(l)
	return v
}

// Number is Effective of a whole number. Every layer was checked when it was set, so there is one.
func (l Layers) Number(name string) int64 {
	n, err := strconv.ParseInt(l.Effective(name), 10, 64)
	if err != nil {
		panic("controller: " + name + " is not a number: " + err.Error())
	}
	return n
}

// own is what was found in the unit of s.
func (s Setting) own(f Found) string {
	i := slices.IndexFunc(s.Defaults, func(n Synonym) bool { return n.Name == f.Name })
	if s.Scope&TopicScope == 0 || i < 0 || s.Defaults[i].Factor == 0 {
		return f.Value
	}
	n, err := strconv.ParseInt(f.Value, 10, 64)
	if err != nil {
		return s.Default // every layer was checked
	}
	if n < 0 {
		return "-1" // for ever
	}
	return strconv.FormatInt(n*s.Defaults[i].Factor, 10)
}

// withDefaults adds the settings of brokers that topics go by, each with the type and the bounds of the topics' one, and
// sorts the table. The default stands with the last name of a chain, as in Kafka.
func withDefaults(table []Setting) []Setting {
	for _, t := range slices.Clone(table) {
		for i, n := range t.Defaults {
			s := t
			s.Name, s.Scope, s.Defaults, s.Default = n.Name, BrokerScope|DynamicScope, t.Defaults[i+1:], ""
			s.Meaning = "What topics have that do not set " + t.Name + "."
			if strings.Contains(t.Meaning, kept) {
				s.Meaning = "What topics have that do not set " + t.Name + kept + "."
			}
			if len(t.Defaults) > 1 && i == len(t.Defaults)-1 || n.Factor != 0 {
				s.Scope = BrokerScope
			}
			if i == len(t.Defaults)-1 {
				s.Default = t.Default
			}
			if n.Factor != 0 {
				s.Type, s.Min, s.Max = Int, min(t.Min, 0), maxInt
				if t.Min > 0 {
					s.Min = 1
				}
				if s.Default != "" {
					whole, err := strconv.ParseInt(s.Default, 10, 64)
					if err != nil {
						panic("controller: default of " + t.Name + ": " + err.Error())
					}
					s.Default = strconv.FormatInt(whole/n.Factor, 10)
				}
			}
			table = append(table, s)
		}
	}
	slices.SortFunc(table, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return table
}
