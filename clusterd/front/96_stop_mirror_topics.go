package front

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// StopMirrorTopics v0: ends mirroring of topics and makes them writable here (C8, C9): by the draft's stop, a switchover
// or a failover. It is answered when that has begun on disk; describe shows how far it is.

func (f *Front) stopMirrorTopics(r *messages.StopMirrorTopicsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*messages.StopMirrorTopicsResponse)
	name := core.MirrorName(r.MirrorName)
	if !f.may(from, access.Alter, access.ClusterMirror, r.MirrorName) {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterMirrorAuthorizationFailed), text(denial(from, access.Alter, access.ClusterMirror, r.MirrorName))
		slot.Reply(resp)
		return
	}
	if v := mirror.Verb(r.Verb); v != mirror.VerbStop && v != mirror.VerbSwitchover && v != mirror.VerbFailover {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.InvalidRequest), text(fmt.Sprintf("verb %d; 0 is STOP, 1 is SWITCHOVER, 2 is FAILOVER", r.Verb))
		slot.Reply(resp)
		return
	}
	if why := checkPatterns(r.Patterns); why != "" {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.InvalidRequest), text(why)
		slot.Reply(resp)
		return
	}
	f.withMirror(name, func(d mirror.Description, ok bool) {
		if !ok {
			resp.ErrorCode = int16(perr.UnknownClusterMirror)
			resp.ErrorMessage = text(f.noMirror(name))
			slot.Reply(resp)
			return
		}
		f.stopTopics(r, d, resp, slot)
	})
}

func (f *Front) stopTopics(r *messages.StopMirrorTopicsRequest, d mirror.Description, resp *messages.StopMirrorTopicsResponse, slot *Slot) {
	cmd := mirror.StopTopics{Exclude: r.Patterns, Verb: mirror.Verb(r.Verb)}
	add := func(name string, code perr.Code, why, warning string) {
		out := messages.NewStopMirrorTopicsResponseTopicResult()
		out.TopicName, out.ErrorCode, out.ErrorMessage, out.Warning = name, int16(code), text(why), text(warning)
		resp.Topics = append(resp.Topics, out)
	}
	named := map[string]bool{}
	for _, t := range r.Topics {
		id, ok := topicOf(d, t.TopicName, core.TopicID{})
		if !ok {
			add(t.TopicName, perr.TopicNotInClusterMirror, fmt.Sprintf("mirror %s has no topic %s", d.Mirror, t.TopicName), "")
			continue
		}
		named[t.TopicName] = true
		cmd.Topics = append(cmd.Topics, id)
	}
	for _, t := range d.Topics {
		if !named[t.Name] && t.Phase != mirror.Stopped && matchesAny(r.Patterns, t.Name) {
			cmd.Topics = append(cmd.Topics, t.Topic)
		}
	}
	f.cluster.Mirror(d.Mirror, func(ref core.RequestID) mirror.Command { cmd.Ref = ref; return cmd }, func(reply any) {
		code, why := mirrorAnswer(reply)
		resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
		if answered, ok := reply.(mirror.TopicsAnswered); ok {
			for _, t := range answered.Topics {
				add(t.Name, t.Code, t.Text, t.Warning)
			}
		}
		slot.Reply(resp)
	})
}

// topicOf finds a topic of a mirror by id, or by name when the id is zero.
func topicOf(d mirror.Description, name string, id core.TopicID) (core.TopicID, bool) {
	for _, t := range d.Topics {
		if id == t.Topic || id.IsZero() && name == t.Name {
			return t.Topic, true
		}
	}
	return core.TopicID{}, false
}
