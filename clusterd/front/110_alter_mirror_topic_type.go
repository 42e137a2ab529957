package front

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// AlterMirrorTopicType v0: changes what is wanted of mirrored topics. SYNC waits for lag zero and an
// admitted registration; ASYNC un-claims at once.

func (f *Front) alterMirrorTopicType(r *messages.AlterMirrorTopicTypeRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*messages.AlterMirrorTopicTypeResponse)
	if !f.may(from, access.Alter, access.ClusterMirror, r.MirrorName) {
		for i := range r.Topics {
			out := messages.NewAlterMirrorTopicTypeResponseTopicResult()
			out.TopicName, out.ErrorCode = r.Topics[i].TopicName, int16(perr.ClusterMirrorAuthorizationFailed)
			out.ErrorMessage = text(denial(from, access.Alter, access.ClusterMirror, r.MirrorName))
			resp.Topics = append(resp.Topics, out)
		}
		slot.Reply(resp)
		return
	}
	f.withMirror(core.MirrorName(r.MirrorName), func(d mirror.Description, known bool) { f.alterTypes(r, d, known, resp, slot) })
}

func (f *Front) alterTypes(r *messages.AlterMirrorTopicTypeRequest, d mirror.Description, known bool,
	resp *messages.AlterMirrorTopicTypeResponse, slot *Slot) {
	resp.Topics = make([]messages.AlterMirrorTopicTypeResponseTopicResult, len(r.Topics))
	name := core.MirrorName(r.MirrorName)
	// One command per type: a request may mix them, the mirror's command does not.
	places := map[mirror.Type][]int{}
	cmds := map[mirror.Type]*mirror.AlterType{}
	for i, t := range r.Topics {
		out := &resp.Topics[i]
		*out = messages.NewAlterMirrorTopicTypeResponseTopicResult()
		out.TopicName = t.TopicName
		kind := mirror.Type(t.MirrorType)
		id, ok := topicOf(d, t.TopicName, t.TopicId)
		code, why := perr.None, ""
		switch {
		case !known:
			code, why = perr.UnknownClusterMirror, f.noMirror(name)
		case !ok:
			code, why = perr.TopicNotInClusterMirror, fmt.Sprintf("mirror %s has no topic %s", name, t.TopicName)
		case kind != mirror.TypeAsync && kind != mirror.TypeSync:
			code, why = perr.InvalidRequest, fmt.Sprintf("mirror type %d; 0 is ASYNC, 1 is SYNC", t.MirrorType)
		default:
			if cmds[kind] == nil {
				cmds[kind] = &mirror.AlterType{Type: kind}
			}
			cmds[kind].Topics = append(cmds[kind].Topics, id)
			places[kind] = append(places[kind], i)
		}
		out.ErrorCode, out.ErrorMessage = int16(code), text(why)
	}
	done := countdown(len(cmds), func() { slot.Reply(resp) })
	for kind, cmd := range cmds {
		f.cluster.Mirror(name, func(ref core.RequestID) mirror.Command { cmd.Ref = ref; return *cmd }, func(reply any) {
			defer done()
			code, why := mirrorAnswer(reply)
			answered, _ := reply.(mirror.TopicsAnswered)
			for n, i := range places[kind] {
				out := &resp.Topics[i]
				out.ErrorCode, out.ErrorMessage = int16(code), text(why)
				if code == perr.None && n < len(answered.Topics) {
					t := answered.Topics[n]
					out.ErrorCode, out.ErrorMessage, out.Warning = int16(t.Code), text(t.Text), text(t.Warning)
				}
			}
		})
	}
}
