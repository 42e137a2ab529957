package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockstep/actors/core/access"
)

// SettingType is Kafka's type of a setting, with the numbers of DescribeConfigs.
type SettingType int8

const (
	Boolean SettingType = 1
	String  SettingType = 2
	Int     SettingType = 3
	Long    SettingType = 5
	Double  SettingType = 6
	List    SettingType = 7
	// Password is a text that is never shown.
	Password SettingType = 9
)

// Scope says where a setting may be set.
type Scope uint8

const (
	TopicScope   Scope = 1 << iota
	BrokerScope        // read from flags or the config file at start
	DynamicScope       // of a running broker, or of all
	ClusterScope       // of all running brokers
)

// Setting is one line of the table: all that checks, DescribeConfigs and the docs know of it.
type Setting struct {
	Name    string
	Type    SettingType
	Default string // "": computed, see Meaning, or empty
	Scope   Scope
	Min     float64  // numbers, inclusive
	Max     float64  // numbers, inclusive
	Allowed []string // strings and list items; nil: anything
	Meaning string   // one line; says so when the setting is kept and shown but not acted on
	// Defaults are the settings of brokers that a topic without this one goes by, the nearest first; none: the one of the
	// same name, if brokers have it. A setting of brokers has those here that stand behind it.
	Defaults []Synonym
}

// Synonym is a setting of brokers that stands for one of topics.
type Synonym struct {
	Name   string
	Factor int64 // of its unit in that of the topic's setting; 0: they are the same
}

// FindSetting looks a setting up.
func FindSetting(name string) (Setting, bool) {
	i, known := slices.BinarySearchFunc(Settings, name, func(s Setting, name string) int { return strings.Compare(s.Name, name) })
	if !known {
		return Setting{}, false
	}
	return Settings[i], true
}

// CheckTopicSetting says what is wrong with an override of a topic, "" if nothing is.
func CheckTopicSetting(name, value string) string {
	s, known := FindSetting(name)
	if !known {
		return fmt.Sprintf("unknown setting %q (value %q); clusterctl and kafka-configs list the names that exist", name, value)
	}
	if s.Scope&TopicScope == 0 {
		return fmt.Sprintf("%s is a setting of the broker; give it at start with --set %s=%s", name, name, value)
	}
	return s.Check(value)
}

// Check says what is wrong with a value, "" if nothing is.
func (s Setting) Check(value string) string {
	switch s.Type {
	case Boolean:
		if value != "true" && value != "false" {
			return fmt.Sprintf("%s=%q; use true or false", s.Name, value)
		}
		if s.Allowed != nil && !slices.Contains(s.Allowed, value) {
			return fmt.Sprintf("%s=%s is not possible: %s", s.Name, value, s.Meaning)
		}
	case String:
		if s.Allowed != nil && !slices.Contains(s.Allowed, value) {
			return fmt.Sprintf("%s=%q; use one of %s", s.Name, value, strings.Join(slices.DeleteFunc(slices.Clone(s.Allowed), func(a string) bool { return a == "" }), ", "))
		}
		if s.Name == access.SuperUsers {
			if _, err := access.ParseSuperUsers(value); err != nil {
				return err.Error()
			}
		}
	case List:
		return s.checkList(value)
	case Int, Long, Double:
		return s.checkNumber(value)
	case Password:
	default:
		panic("controller: setting " + s.Name + " has no type")
	}
	return ""
}

func (s Setting) checkList(value string) string {
	if s.Name == "leader.replication.throttled.replicas" || s.Name == "follower.replication.throttled.replicas" {
		for item := range strings.SplitSeq(value, ",") {
			if _, _, ok := replicaOf(item); !ok && value != "" && value != everyReplica {
				return fmt.Sprintf("%s=%q: %q is no replica; use partition:broker, separated by commas, or %s for all", s.Name, value, item, everyReplica)
			}
		}
		return ""
	}
	if s.Allowed == nil || value == "" {
		return ""
	}
	for item := range strings.SplitSeq(value, ",") {
		if !slices.Contains(s.Allowed, strings.TrimSpace(item)) {
			return fmt.Sprintf("%s=%q: %q is none of %s", s.Name, value, item, strings.Join(s.Allowed, ", "))
		}
	}
	return ""
}

func (s Setting) checkNumber(value string) string {
	var n float64
	var err error
	if s.Type == Double {
		n, err = strconv.ParseFloat(value, 64)
	} else {
		var whole int64
		whole, err = strconv.ParseInt(value, 10, s.bits())
		n = float64(whole)
	}
	if err != nil || n != n {
		return fmt.Sprintf("%s=%q is not a number of type %s", s.Name, value, s.Type)
	}
	if n < s.Min || n > s.Max {
		return fmt.Sprintf("%s=%s is outside %s to %s", s.Name, value, bound(s.Min), bound(s.Max))
	}
	return ""
}

func bound(v float64) string {
	if v == maxLong {
		return strconv.FormatInt(1<<63-1, 10)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (s Setting) bits() int {
	if s.Type == Int {
		return 32
	}
	return 64
}

func (t SettingType) String() string {
	switch t {
	case Boolean:
		return "boolean"
	case String:
		return "string"
	case Int:
		return "int"
	case Long:
		return "long"
	case Double:
		return "double"
	case List:
		return "list"
	case Password:
		return "password"
	default:
		panic("controller: unknown setting type")
	}
}
