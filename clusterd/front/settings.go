package front

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
)

// setting is the effective value of one setting and where it comes from, nearest first.
type setting struct {
	controller.Setting
	value    string
	source   kmsg.ConfigSource
	readOnly bool
	synonyms []synonym
}

type synonym struct {
	value  string
	source kmsg.ConfigSource
}

// topicSetting resolves one setting for a topic: its override, the broker's value, the default.
func (f *Front) topicSetting(s controller.Setting, t *image.Topic) setting {
	out := setting{Setting: s}
	if v, ok := t.Config[s.Name]; ok {
		out.synonyms = append(out.synonyms, synonym{v, kmsg.ConfigSourceDynamicTopicConfig})
	}
	f.addBrokerValues(&out)
	if s.Name == "min.insync.replicas" && len(out.synonyms) == 0 && len(t.Partitions) > 0 {
		out.synonyms = append(out.synonyms, synonym{strconv.Itoa(int(t.Partitions[0].MinISR)), kmsg.ConfigSourceDefaultConfig})
	}
	out.settle()
	return out
}

// brokerSetting resolves one setting for this broker. They are read at start, so a client cannot alter
// them.
func (f *Front) brokerSetting(s controller.Setting) setting {
	out := setting{Setting: s, readOnly: true}
	f.addBrokerValues(&out)
	out.settle()
	return out
}

func (f *Front) addBrokerValues(out *setting) {
	if v, ok := f.settings[out.Name]; ok {
		out.synonyms = append(out.synonyms, synonym{v, kmsg.ConfigSourceStaticBrokerConfig})
	}
	if out.Default != "" {
		out.synonyms = append(out.synonyms, synonym{out.Default, kmsg.ConfigSourceDefaultConfig})
	}
}

func (s *setting) settle() {
	s.source = kmsg.ConfigSourceDefaultConfig
	if len(s.synonyms) > 0 {
		s.value, s.source = s.synonyms[0].value, s.synonyms[0].source
	}
}

// topicNumber is the effective value of a numeric setting of a topic.
func (f *Front) topicNumber(name string, t *image.Topic) int64 {
	s, ok := controller.FindSetting(name)
	if !ok {
		panic("front: no setting " + name)
	}
	n, err := strconv.ParseInt(f.topicSetting(s, t).value, 10, 64)
	if err != nil {
		panic("front: " + name + " is not a number: " + err.Error())
	}
	return n
}

// brokerWord is the value of a setting of this broker, as it was at start.
func (f *Front) brokerWord(name string) string {
	s, ok := controller.FindSetting(name)
	if !ok {
		panic("front: no setting " + name)
	}
	return f.brokerSetting(s).value
}

// brokerNumber is a numeric setting of this broker, as it was at start.
func (f *Front) brokerNumber(name string) int64 {
	n, err := strconv.ParseInt(f.brokerWord(name), 10, 64)
	if err != nil {
		panic("front: " + name + " is not a number: " + err.Error())
	}
	return n
}

// topicWord is the effective value of a setting of a topic.
func (f *Front) topicWord(name string, t *image.Topic) string {
	s, ok := controller.FindSetting(name)
	if !ok {
		panic("front: no setting " + name)
	}
	return f.topicSetting(s, t).value
}

// autoCreates is auto.create.topics.enable.
func (f *Front) autoCreates() bool { return f.enabled("auto.create.topics.enable") }
