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
	name   string // "": the setting's own
	value  string
	source kmsg.ConfigSource
}

// sourceOf are Kafka's names of the places of a setting.
var sourceOf = map[controller.Place]kmsg.ConfigSource{
	controller.FromTopic:   kmsg.ConfigSourceDynamicTopicConfig,
	controller.FromBroker:  kmsg.ConfigSourceDynamicBrokerConfig,
	controller.FromCluster: kmsg.ConfigSourceDynamicDefaultBrokerConfig,
	controller.FromStart:   kmsg.ConfigSourceStaticBrokerConfig,
	controller.FromTable:   kmsg.ConfigSourceDefaultConfig,
}

// layers are where this broker finds settings, those of t too unless it is nil.
func (f *Front) layers(t *image.Topic) controller.Layers {
	l := controller.Layers{}
	if f.broker != nil {
		l = f.broker.Layers(f.broker.Image(), t)
	}
	l.Static = f.settings
	return l
}

// topicSetting resolves one setting for a topic: its override, the broker's value, the default.
func (f *Front) topicSetting(s controller.Setting, t *image.Topic) setting {
	out := resolve(s, f.layers(t))
	if s.Name == "min.insync.replicas" && len(out.synonyms) == 0 && len(t.Partitions) > 0 {
		out.value = strconv.Itoa(int(t.Partitions[0].MinISR))
		out.synonyms = append(out.synonyms, synonym{value: out.value, source: kmsg.ConfigSourceDefaultConfig})
	}
	return out
}

// brokerSetting resolves one setting for this broker.
func (f *Front) brokerSetting(s controller.Setting) setting {
	out := resolve(s, f.layers(nil))
	out.readOnly = s.Scope&(controller.DynamicScope|controller.ClusterScope) == 0
	return out
}

func resolve(s controller.Setting, l controller.Layers) setting {
	out := setting{Setting: s, source: kmsg.ConfigSourceDefaultConfig}
	value, found := s.Find(l)
	for _, in := range found {
		out.synonyms = append(out.synonyms, synonym{in.Name, in.Value, sourceOf[in.In]})
	}
	if out.value = value; len(found) > 0 {
		out.source = sourceOf[found[0].In]
	}
	return out
}

// settle takes the first synonym.
func (s *setting) settle() {
	s.source = kmsg.ConfigSourceDefaultConfig
	if len(s.synonyms) > 0 {
		s.value, s.source = s.synonyms[0].value, s.synonyms[0].source
	}
}

// brokerWord is the value of a setting of this broker.
func (f *Front) brokerWord(name string) string { return f.layers(nil).Effective(name) }

// brokerNumber is a numeric setting of this broker.
func (f *Front) brokerNumber(name string) int64 { return f.layers(nil).Number(name) }

// autoCreates is auto.create.topics.enable.
func (f *Front) autoCreates() bool { return f.enabled("auto.create.topics.enable") }
