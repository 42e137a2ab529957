package front

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// DeleteTopics v1–6. v4 is flexible, v5 brings texts, v6 topic ids.

func (f *Front) deleteTopics(r *kmsg.DeleteTopicsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DeleteTopicsResponse)
	asked := r.Topics
	if r.Version < 6 {
		asked = nil
		for i := range r.TopicNames {
			asked = append(asked, kmsg.DeleteTopicsRequestTopic{Topic: &r.TopicNames[i]})
		}
	}
	asked = onceDeleted(asked)
	resp.Topics = make([]kmsg.DeleteTopicsResponseTopic, len(asked))
	img := f.broker.Image()
	deletesAny := f.seesCluster(from, access.Delete)
	var gone []core.TopicID
	for i, rt := range asked {
		out := &resp.Topics[i]
		out.Topic, out.TopicID = rt.Topic, rt.TopicID
		name, byID := "", rt.TopicID != [16]byte{}
		if rt.Topic != nil {
			name = *rt.Topic
		}
		topic, code := findTopic(img, name, rt.TopicID, byID)
		why := code.Message()
		switch {
		case byID && rt.Topic != nil:
			code, why = perr.InvalidRequest, "name the topic or its id, not both"
		case !byID && rt.Topic == nil:
			code, why = perr.InvalidRequest, "neither a topic nor an id is named"
		case byID && code == perr.None && !deletesAny && !f.may(from, access.Delete, access.Topic, topic.Name):
			// Who may not describe it does not learn its name either.
			if f.sees(from, access.Describe, access.Topic, topic.Name) {
				out.Topic = &topic.Name
			}
			code = perr.TopicAuthorizationFailed
			why = code.Message()
		case !byID && !deletesAny && !f.mayDelete(from, name, code):
			code = perr.TopicAuthorizationFailed
			why = code.Message()
		case code == perr.None:
			out.Topic, out.TopicID = &topic.Name, topic.ID
			if code, why = mirroredRefusal(img, topic); code == perr.None {
				gone = append(gone, topic.ID)
				continue
			}
		}
		out.ErrorCode, out.ErrorMessage = int16(perr.ForVersion(messages.KeyDeleteTopics, r.Version, code)), text(why)
	}
	done := countdown(len(gone), func() { f.whenGone(gone, func() { slot.Reply(resp) }) })
	for i := range resp.Topics {
		out := &resp.Topics[i]
		if out.ErrorCode != 0 {
			continue
		}
		f.cluster.DeleteTopic(controller.DeleteTopic{ID: out.TopicID}, func(reply any) {
			defer done()
			switch e := reply.(type) {
			case controller.Done:
				out.ErrorCode, out.ErrorMessage = int16(e.Code), text(e.Text)
			case shell.Failed:
				out.ErrorCode, out.ErrorMessage = int16(perr.RequestTimedOut), text(e.Text)
			default:
				panic("front: unknown answer to DeleteTopic")
			}
		})
	}
}

// mayDelete judges a topic by its name: that there is none is told to who may describe it.
func (f *Front) mayDelete(from Client, name string, found perr.Code) bool {
	op := access.Delete
	if found != perr.None {
		op = access.Describe
	}
	return f.may(from, op, access.Topic, name)
}

func onceDeleted(asked []kmsg.DeleteTopicsRequestTopic) []kmsg.DeleteTopicsRequestTopic {
	type topic struct {
		id   [16]byte
		name string
	}
	return once(asked, func(t kmsg.DeleteTopicsRequestTopic) topic {
		if t.Topic == nil {
			return topic{id: t.TopicID}
		}
		return topic{t.TopicID, *t.Topic}
	})
}

// mirroredRefusal keeps topics that a mirror of this cluster fills: deleting one would leave the mirror
// with nothing to write to and, in sync mode, the source's producers waiting (M14).
func mirroredRefusal(img *image.Image, t *image.Topic) (perr.Code, string) {
	m, ok := img.Mirrors[t.ID]
	if !ok || m.State == image.MirrorStopped || m.State == image.MirrorNone {
		return perr.None, ""
	}
	return perr.ReadOnlyTopic, fmt.Sprintf("topic %s is filled by mirror %s; stop it first: clusterctl mirrors --stop --mirror %s --topics %s", t.Name, m.Mirror, m.Mirror, t.Name)
}

// whenGone calls done when this broker's image has forgotten the topics, or after a second.
func (f *Front) whenGone(ids []core.TopicID, done func()) {
	f.whenSeen(func(img *image.Image) bool {
		return !slices.ContainsFunc(ids, func(id core.TopicID) bool { return img.Topics[id] != nil })
	}, done)
}
