package front

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// AlterConfigs v0–2: what is named are all overrides of the resource from now on, the others go back to their defaults
// (compat-A01). kafkajs and old tools have nothing else. v2 is flexible. Mirrors cannot be altered so: they could not be
// without the settings that say whom they follow.

func (f *Front) alterConfigs(r *kmsg.AlterConfigsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.AlterConfigsResponse)
	resp.Resources = make([]kmsg.AlterConfigsResponseResource, len(r.Resources))
	done := countdown(len(r.Resources), func() { slot.Reply(resp) })
	times := map[resource]int{}
	for _, rr := range r.Resources {
		times[resource{rr.ResourceType, rr.ResourceName}]++
	}
	for i := range r.Resources {
		rr, out := &r.Resources[i], &resp.Resources[i]
		*out = kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = rr.ResourceType, rr.ResourceName
		answer := func(code perr.Code, why string) {
			out.ErrorCode, out.ErrorMessage = int16(code), text(why)
			done()
		}
		set, why := wholeSet(rr)
		denied, reason := f.mayConfigure(from, access.AlterConfigs, rr.ResourceType, rr.ResourceName)
		switch {
		case times[resource{rr.ResourceType, rr.ResourceName}] > 1:
			answer(perr.InvalidRequest, fmt.Sprintf("%s is named twice in one request", rr.ResourceName))
		case denied != perr.None:
			answer(denied, reason)
		case why != "":
			answer(perr.InvalidConfig, why)
		case rr.ResourceType == kmsg.ConfigResourceTypeTopic:
			topic, code := findTopic(f.broker.Image(), rr.ResourceName, core.TopicID{}, false)
			if code != perr.None {
				answer(code, code.Message())
				break
			}
			f.setTopic(controller.AlterTopic{ID: topic.ID, Set: set, Whole: true, DryRun: r.ValidateOnly}, answer)
		case rr.ResourceType == kmsg.ConfigResourceTypeBroker:
			f.setBroker(rr.ResourceName, controller.AlterBroker{Set: set, Whole: true, DryRun: r.ValidateOnly}, answer)
		case rr.ResourceType == kmsg.ConfigResourceTypeGroupConfig && rr.ResourceName == "":
			answer(perr.InvalidRequest, "the group id is empty")
		case rr.ResourceType == kmsg.ConfigResourceTypeGroupConfig:
			c := group.ConfigureGroup{Group: rr.ResourceName, Set: set, DryRun: r.ValidateOnly}
			for _, name := range group.GroupSettings {
				if _, named := set[name]; !named {
					c.Delete = append(c.Delete, name)
				}
			}
			f.setGroup(c, answer)
		default:
			answer(perr.InvalidRequest, fmt.Sprintf("resource type %d cannot be altered as a whole; topics (2), brokers (4) and groups (32) can, mirrors (64) with IncrementalAlterConfigs", rr.ResourceType))
		}
	}
}

func wholeSet(rr *kmsg.AlterConfigsRequestResource) (set map[string]string, why string) {
	set = map[string]string{}
	for _, c := range rr.Configs {
		if _, again := set[c.Name]; again {
			return nil, fmt.Sprintf("%s of %s is named twice", c.Name, rr.ResourceName)
		}
		if c.Value == nil {
			return nil, fmt.Sprintf("%s of %s has no value; leave it out to get its default", c.Name, rr.ResourceName)
		}
		set[c.Name] = *c.Value
	}
	return set, ""
}
