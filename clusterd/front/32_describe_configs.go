package front

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
	"lockstep/protocol/properties"
)

// DescribeConfigs v1–4. v1 brings sources and synonyms, v3 types and documentation, v4 is flexible.
// Topics and brokers come from the table of settings (compat-A12); a broker shows besides where the cluster's NATS
// is, which is how a destination learns it (D19).

// natsURL is read-only and told only by the BROKER resource.
const natsURL = "lockstep.nats.url"

// clusterMirror is the KIP's resource type of a mirror.
const clusterMirror kmsg.ConfigResourceType = 64

func (f *Front) describeConfigs(r *kmsg.DescribeConfigsRequest, from Client, slot *Slot) {
	r.Resources = mergeResources(r.Resources)
	f.withGroups(from, r.Resources, func(groups map[string]group.Configured) {
		if !slices.ContainsFunc(r.Resources, func(rr kmsg.DescribeConfigsRequestResource) bool { return rr.ResourceType == clusterMirror }) {
			slot.Turn(func() (kmsg.Response, bool) { return f.answerConfigs(r, from, nil, groups), true })
			return
		}
		f.withMirrors(func(all []mirror.Description) {
			slot.Turn(func() (kmsg.Response, bool) { return f.answerConfigs(r, from, all, groups), true })
		})
	})
}

// mergeResources makes one question of those about the same resource: each would be answered with every setting, fifty
// times the bytes that asked.
func mergeResources(asked []kmsg.DescribeConfigsRequestResource) []kmsg.DescribeConfigsRequestResource {
	at := map[resource]int{}
	merged := asked[:0]
	for _, rr := range asked {
		key := resource{rr.ResourceType, rr.ResourceName}
		i, again := at[key]
		if !again {
			at[key] = len(merged)
			merged = append(merged, rr)
			continue
		}
		if first := &merged[i]; len(first.ConfigNames) == 0 || len(rr.ConfigNames) == 0 {
			first.ConfigNames = nil // all of them
		} else {
			first.ConfigNames = append(first.ConfigNames, rr.ConfigNames...)
		}
	}
	return merged
}

func (f *Front) answerConfigs(r *kmsg.DescribeConfigsRequest, from Client, mirrors []mirror.Description, groups map[string]group.Configured) *kmsg.DescribeConfigsResponse {
	resp := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
	resp.Resources = make([]kmsg.DescribeConfigsResponseResource, len(r.Resources))
	img := f.broker.Image()
	for i, rr := range r.Resources {
		out := &resp.Resources[i]
		*out = kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = rr.ResourceType, rr.ResourceName
		var list []setting
		code, why := f.mayConfigure(from, access.DescribeConfigs, rr.ResourceType, rr.ResourceName)
		if code == perr.None {
			list, code, why = f.settingsOf(img, rr, mirrors, groups)
		}
		out.ErrorCode, out.ErrorMessage = int16(code), text(why)
		named := make(map[string]bool, min(len(rr.ConfigNames), 1024))
		for _, name := range rr.ConfigNames {
			named[name] = true
		}
		for _, s := range list {
			if len(named) == 0 || named[s.Name] { // an empty list asks for all, as a null one does
				out.Configs = append(out.Configs, describeSetting(s, r))
			}
		}
	}
	return resp
}

func (f *Front) settingsOf(img *image.Image, rr kmsg.DescribeConfigsRequestResource, mirrors []mirror.Description, groups map[string]group.Configured) ([]setting, perr.Code, string) {
	var list []setting
	switch rr.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if !legalName(rr.ResourceName) {
			return nil, perr.InvalidTopicException, perr.InvalidTopicException.Message()
		}
		topic, code := findTopic(img, rr.ResourceName, core.TopicID{}, false)
		if code != perr.None {
			return nil, code, code.Message()
		}
		for _, s := range controller.Settings {
			if s.Scope&controller.TopicScope != 0 {
				list = append(list, f.topicSetting(s, topic))
			}
		}
		return list, perr.None, ""
	case kmsg.ConfigResourceTypeBroker:
		if rr.ResourceName == "" {
			return f.clusterSettings(img), perr.None, ""
		}
		if rr.ResourceName != strconv.Itoa(int(f.broker.ID())) {
			return nil, perr.InvalidRequest, fmt.Sprintf("this is broker %d, ask broker %s itself", f.broker.ID(), rr.ResourceName)
		}
		for _, s := range controller.Settings {
			if s.Scope&controller.BrokerScope != 0 {
				list = append(list, f.brokerSetting(s))
			}
		}
		nats := f.brokerSetting(controller.Setting{Name: natsURL, Type: controller.String,
			Meaning: "Where mirrors of other clusters reach this cluster's NATS; empty: over the Kafka port only."})
		return append(list, nats), perr.None, ""
	case kmsg.ConfigResourceTypeGroupConfig:
		return settingsOfGroup(groups, rr.ResourceName)
	case clusterMirror:
		return f.mirrorSettings(mirrors, core.MirrorName(rr.ResourceName))
	default:
		return nil, perr.InvalidRequest, fmt.Sprintf("resource type %d has no settings here; topics (2), brokers (4), groups (32) and mirrors (64) have", rr.ResourceType)
	}
}

// clusterSettings are those that an operator set for all brokers, as Kafka shows the broker without a name.
func (f *Front) clusterSettings(img *image.Image) (list []setting) {
	all := img.Settings[core.NoReplica]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, known := controller.FindSetting(name)
		if !known {
			continue // of another release
		}
		list = append(list, resolve(controller.Setting{Name: name, Type: s.Type, Meaning: s.Meaning}, controller.Layers{Cluster: all}))
	}
	return list
}

// mirrorSettings lists what a mirror was created or altered with. Mirrors have no defaults to show.
func (f *Front) mirrorSettings(mirrors []mirror.Description, name core.MirrorName) ([]setting, perr.Code, string) {
	for _, m := range mirrors {
		if m.Mirror != name {
			continue
		}
		var list []setting
		for _, key := range slices.Sorted(maps.Keys(m.Config)) {
			kind := controller.String
			if properties.Secret(key) { // only a reference to it, but of an older release it may be itself
				kind = controller.Password
			}
			s := setting{Setting: controller.Setting{Name: key, Type: kind}, synonyms: []synonym{{value: m.Config[key], source: kmsg.ConfigSourceDynamicTopicConfig}}}
			s.settle()
			list = append(list, s)
		}
		return list, perr.None, ""
	}
	return nil, perr.UnknownClusterMirror, f.noMirror(name)
}

func describeSetting(s setting, r *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	out := kmsg.NewDescribeConfigsResponseResourceConfig()
	if out.Name = s.Name; s.value != "" || s.Type == controller.String || s.Type == controller.List {
		out.Value = &s.value // null: a number that nobody set, and that has no default
	}
	out.Source, out.IsDefault, out.ReadOnly = s.source, s.source == kmsg.ConfigSourceDefaultConfig, s.readOnly
	out.ConfigType, out.IsSensitive = kmsg.ConfigType(s.Type), s.Type == controller.Password
	if out.IsSensitive {
		out.Value = nil
	}
	if r.IncludeSynonyms {
		for _, from := range s.synonyms {
			y := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			y.Name, y.Value, y.Source = cmp.Or(from.name, s.Name), &from.value, from.source
			if out.IsSensitive {
				y.Value = nil
			}
			out.ConfigSynonyms = append(out.ConfigSynonyms, y)
		}
	}
	if r.IncludeDocumentation {
		out.Documentation = text(s.Meaning)
	}
	return out
}
