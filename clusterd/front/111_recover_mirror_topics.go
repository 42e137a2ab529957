package front

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// RecoverMirrorTopics v0: FAILED and ORPHANED topics are mirrored again; DIVERGED ones only when the operator takes the source's
// history (R11).

func (f *Front) recoverMirrorTopics(r *messages.RecoverMirrorTopicsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*messages.RecoverMirrorTopicsResponse)
	name := core.MirrorName(r.MirrorName)
	if !f.may(from, access.Alter, access.ClusterMirror, r.MirrorName) {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterMirrorAuthorizationFailed), text(denial(from, access.Alter, access.ClusterMirror, r.MirrorName))
		slot.Reply(resp)
		return
	}
	f.withMirror(name, func(d mirror.Description, known bool) {
		if !known {
			resp.ErrorCode = int16(perr.UnknownClusterMirror)
			resp.ErrorMessage = text(f.noMirror(name))
			slot.Reply(resp)
			return
		}
		add := func(name string, code perr.Code, why, warning string) {
			out := messages.NewRecoverMirrorTopicsResponseTopicResult()
			out.TopicName, out.ErrorCode, out.ErrorMessage, out.Warning = name, int16(code), text(why), text(warning)
			resp.Topics = append(resp.Topics, out)
		}
		cmd := mirror.RecoverTopics{AcceptSource: r.AcceptSource}
		for _, t := range r.Topics {
			id, ok := topicOf(d, t.TopicName, core.TopicID{})
			if !ok {
				add(t.TopicName, perr.TopicNotInClusterMirror, fmt.Sprintf("mirror %s has no topic %s", name, t.TopicName), "")
				continue
			}
			cmd.Topics = append(cmd.Topics, id)
		}
		f.cluster.Mirror(name, func(ref core.RequestID) mirror.Command { cmd.Ref = ref; return cmd }, func(reply any) {
			code, why := mirrorAnswer(reply)
			resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
			if answered, ok := reply.(mirror.TopicsAnswered); ok {
				for _, t := range answered.Topics {
					add(t.Name, t.Code, t.Text, t.Warning)
				}
			}
			slot.Reply(resp)
		})
	})
}
