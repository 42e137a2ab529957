package front

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// IncrementalAlterConfigs v0–1: settings of topics, of running brokers, of groups, and of mirrors under the KIP's resource
// type 64. v1 is flexible. All changes of a resource are made, or none.

func (f *Front) incrementalAlterConfigs(r *kmsg.IncrementalAlterConfigsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	resp.Resources = make([]kmsg.IncrementalAlterConfigsResponseResource, len(r.Resources))
	done := countdown(len(r.Resources), func() { slot.Reply(resp) })
	times := map[resource]int{}
	for _, rr := range r.Resources {
		times[resource{rr.ResourceType, rr.ResourceName}]++
	}
	for i := range r.Resources {
		rr, out := &r.Resources[i], &resp.Resources[i]
		*out = kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = rr.ResourceType, rr.ResourceName
		answer := func(code perr.Code, why string) {
			out.ErrorCode, out.ErrorMessage = int16(code), text(why)
			done()
		}
		denied, reason := f.mayConfigure(from, access.AlterConfigs, rr.ResourceType, rr.ResourceName)
		switch {
		case times[resource{rr.ResourceType, rr.ResourceName}] > 1:
			answer(perr.InvalidRequest, fmt.Sprintf("%s is named twice in one request", rr.ResourceName))
		case denied != perr.None:
			answer(denied, reason)
		case rr.ResourceType == kmsg.ConfigResourceTypeTopic:
			f.alterTopic(rr, r.ValidateOnly, answer)
		case rr.ResourceType == kmsg.ConfigResourceTypeGroupConfig:
			f.alterGroup(rr, r.ValidateOnly, answer)
		case rr.ResourceType == clusterMirror:
			f.alterMirror(rr, r.ValidateOnly, answer)
		case rr.ResourceType == kmsg.ConfigResourceTypeBroker:
			f.alterBroker(rr, r.ValidateOnly, answer)
		default:
			answer(perr.InvalidRequest, fmt.Sprintf("resource type %d cannot be altered; topics (2), brokers (4), groups (32) and mirrors (64) can", rr.ResourceType))
		}
	}
}

// resource is what settings belong to. One that a request names again is refused each time, as in Kafka: which of two
// changes of it was meant, and which of two answers is whose, nobody knows.
type resource struct {
	kind kmsg.ConfigResourceType
	name string
}

// altered applies the operations of a request to the settings now: 0 sets, 1 deletes, 2 appends to a list, 3 takes from it.
func altered(now map[string]string, ops []kmsg.IncrementalAlterConfigsRequestResourceConfig) (set map[string]string, deleted []string, why string) {
	set = map[string]string{}
	named := make(map[string]bool, min(len(ops), 1024))
	for _, op := range ops {
		if named[op.Name] {
			return nil, nil, fmt.Sprintf("%s is named twice", op.Name)
		}
		named[op.Name] = true
		if op.Value == nil && op.Op != kmsg.IncrementalAlterConfigOpDelete {
			return nil, nil, fmt.Sprintf("%s has no value", op.Name)
		}
		switch op.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			set[op.Name] = *op.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			deleted = append(deleted, op.Name)
		case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
			if s, known := controller.FindSetting(op.Name); !known || s.Type != controller.List {
				return nil, nil, fmt.Sprintf("%s is not a list: it can be set or deleted", op.Name)
			}
			set[op.Name] = listed(now[op.Name], *op.Value, op.Op == kmsg.IncrementalAlterConfigOpAppend)
		default:
			return nil, nil, fmt.Sprintf("operation %d; 0 sets, 1 deletes, 2 appends, 3 subtracts", op.Op)
		}
	}
	return set, deleted, ""
}

// listed is a list with items added, each once, or taken away. Between two commas with nothing between them is no item, as in
// Kafka.
func listed(list, items string, add bool) string {
	comma := func(r rune) bool { return r == ',' }
	now, named := strings.FieldsFunc(list, comma), strings.FieldsFunc(items, comma)
	if add {
		return strings.Join(once(append(now, named...), itself), ",")
	}
	taken := make(map[string]bool, min(len(named), 1024))
	for _, item := range named {
		taken[item] = true
	}
	return strings.Join(slices.DeleteFunc(now, func(o string) bool { return taken[o] }), ",")
}

func (f *Front) alterTopic(rr *kmsg.IncrementalAlterConfigsRequestResource, dryRun bool, answer func(perr.Code, string)) {
	topic, code := findTopic(f.broker.Image(), rr.ResourceName, core.TopicID{}, false)
	if code != perr.None {
		answer(code, code.Message())
		return
	}
	// A list is appended to as it counts for the topic: "compact" beside the default is both policies, not the second alone.
	now, counts := map[string]string{}, f.layers(topic)
	for _, op := range rr.Configs {
		if s, known := controller.FindSetting(op.Name); known && s.Type == controller.List {
			now[op.Name] = counts.Effective(op.Name)
		}
	}
	set, deleted, why := altered(now, rr.Configs)
	if why != "" {
		answer(perr.InvalidConfig, "topic "+rr.ResourceName+": "+why)
		return
	}
	// What is deleted need not be a setting, as in Kafka: tools take back what they know of and this release does not.
	deleted = slices.DeleteFunc(deleted, func(name string) bool {
		s, known := controller.FindSetting(name)
		return !known || s.Scope&controller.TopicScope == 0
	})
	f.setTopic(controller.AlterTopic{ID: topic.ID, Set: set, Delete: deleted, DryRun: dryRun}, answer)
}

// maxTopicValue is the longest value of a topic's setting, in bytes: as long as a text may be in every version that tells of
// it. Lists are appended to, and each change keeps the whole of them.
const maxTopicValue = math.MaxInt16

func (f *Front) setTopic(c controller.AlterTopic, answer func(perr.Code, string)) {
	for name, value := range c.Set {
		if len(value) > maxTopicValue {
			answer(perr.InvalidConfig, fmt.Sprintf("%s would have a value of %d bytes; %d are the most: take some of it away first", name, len(value), maxTopicValue))
			return
		}
	}
	f.cluster.AlterTopic(c, func(reply any) {
		switch e := reply.(type) {
		case controller.Done:
			if e.Code != perr.None || c.DryRun {
				answer(e.Code, e.Text)
				return
			}
			// Whoever asks this broker next sees what was answered.
			f.whenConfigured(c, func() { answer(perr.None, "") })
		case shell.Failed:
			answer(perr.RequestTimedOut, e.Text)
		default:
			panic("front: unknown answer to AlterTopic")
		}
	})
}

// whenConfigured calls done when this broker's image has what c made of the settings, or after a second.
func (f *Front) whenConfigured(c controller.AlterTopic, done func()) {
	f.whenSeen(func(img *image.Image) bool {
		t, known := img.Topic(c.ID)
		if !known {
			return true
		}
		for name, value := range c.Set {
			if t.Config[name] != value {
				return false
			}
		}
		for _, name := range c.Delete {
			if _, left := t.Config[name]; left {
				return false
			}
		}
		return !c.Whole || len(t.Config) == len(c.Set)
	}, done)
}

// fixedMirrorSettings say whom a mirror follows, which never changes.
var fixedMirrorSettings = []string{sourceClusterID}

func (f *Front) alterMirror(rr *kmsg.IncrementalAlterConfigsRequestResource, dryRun bool, answer func(perr.Code, string)) {
	name := core.MirrorName(rr.ResourceName)
	f.withMirrors(func(all []mirror.Description) {
		i := slices.IndexFunc(all, func(d mirror.Description) bool { return d.Mirror == name })
		if i < 0 {
			answer(perr.UnknownClusterMirror, f.noMirror(name))
			return
		}
		set, deleted, why := altered(all[i].Config, rr.Configs)
		config := maps.Clone(all[i].Config)
		maps.Copy(config, set)
		for _, key := range deleted {
			delete(config, key)
		}
		for _, key := range fixedMirrorSettings {
			if config[key] != all[i].Config[key] {
				why = fmt.Sprintf("%s cannot be changed: stop the mirror's topics and create another one", key)
			}
		}
		if class, given := config[mirror.MinClassSetting]; given && why == "" {
			why = controller.CheckTopicSetting(mirror.MinClassSetting, class)
		}
		if why == "" {
			why = f.source.Check(config)
		}
		if why != "" || dryRun {
			code := perr.InvalidConfig
			if why == "" {
				code = perr.None
			}
			answer(code, why)
			return
		}
		f.cluster.Mirror(name, func(ref core.RequestID) mirror.Command {
			return mirror.ConfigureMirror{Ref: ref, Config: config}
		}, func(reply any) {
			code, why := mirrorAnswer(reply)
			answer(code, why)
		})
	})
}
