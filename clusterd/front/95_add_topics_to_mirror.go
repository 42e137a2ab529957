package front

import (
	"context"
	"fmt"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// AddTopicsToMirror v0–1, also called StartMirrorTopics. v0 is the draft's form: each topic names its
// mirror. v1 names the mirror once and adds patterns, which are kept for topics that appear later.
//
// Names and patterns are resolved against the source here, before the mirror is told: identity is the
// topic id, and only the source knows it.

func (f *Front) addTopicsToMirror(r *messages.AddTopicsToMirrorRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*messages.AddTopicsToMirrorResponse)
	refuse := func(code perr.Code, why string) {
		resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
		slot.Reply(resp)
	}
	name, err := mirrorOf(r)
	if err != nil {
		refuse(perr.InvalidRequest, err.Error())
		return
	}
	if !f.may(from, access.Alter, access.ClusterMirror, string(name)) {
		refuse(perr.ClusterMirrorAuthorizationFailed, denial(from, access.Alter, access.ClusterMirror, string(name)))
		return
	}
	if why := checkPatterns(r.IncludePatterns, r.ExcludePatterns); why != "" {
		refuse(perr.InvalidRequest, why)
		return
	}
	f.withMirror(name, func(d mirror.Description, ok bool) {
		if !ok {
			refuse(perr.UnknownClusterMirror, f.noMirror(name))
			return
		}
		f.detached(slot, func(ctx context.Context) { f.startTopics(ctx, r, d, resp, slot) })
	})
}

// startTopics resolves at the source, tells the mirror, and gathers what became of each topic.
func (f *Front) startTopics(ctx context.Context, r *messages.AddTopicsToMirrorRequest, d mirror.Description,
	resp *messages.AddTopicsToMirrorResponse, slot *Slot) {
	if r.Version >= 1 && r.TimeoutMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.TimeoutMs)*time.Millisecond)
		defer cancel()
	}
	cmd, missing, err := f.topicsToStart(ctx, r, d)
	if err != nil {
		resp.ErrorCode = int16(perr.RequestTimedOut)
		resp.ErrorMessage = text(fmt.Sprintf("the source at %s could not be asked for its topics: %v", d.Config[bootstrapServers], err))
		slot.Reply(resp)
		return
	}
	f.cluster.Mirror(d.Mirror, func(ref core.RequestID) mirror.Command { cmd.Ref = ref; return cmd }, func(reply any) {
		code, why := mirrorAnswer(reply)
		resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
		if answered, ok := reply.(mirror.TopicsAnswered); ok {
			for _, t := range answered.Topics {
				out := messages.NewAddTopicsToMirrorResponseTopicResult()
				out.TopicName, out.ErrorCode, out.ErrorMessage, out.Warning = t.Name, int16(t.Code), text(t.Text), text(t.Warning)
				resp.Topics = append(resp.Topics, out)
			}
		}
		resp.Topics = append(resp.Topics, missing...)
		slot.Reply(resp)
	})
}

// mirrorOf is the one mirror a request is about.
func mirrorOf(r *messages.AddTopicsToMirrorRequest) (core.MirrorName, error) {
	if r.Version >= 1 {
		return core.MirrorName(r.MirrorName), nil
	}
	var name core.MirrorName
	for _, t := range r.Topics {
		switch {
		case t.MirrorName == nil:
			return "", fmt.Errorf("topic %s names no mirror", t.TopicName)
		case name != "" && core.MirrorName(*t.MirrorName) != name:
			return "", fmt.Errorf("topics of mirrors %s and %s in one request; send one request for each mirror", name, *t.MirrorName)
		}
		name = core.MirrorName(*t.MirrorName)
	}
	if name == "" {
		return "", fmt.Errorf("the request names no topics")
	}
	return name, nil
}

// topicsToStart asks the source what the names and patterns stand for. missing are results for names
// that the source does not have, or has under another id than was asked for.
func (f *Front) topicsToStart(ctx context.Context, r *messages.AddTopicsToMirrorRequest, d mirror.Description) (
	cmd mirror.StartTopics, missing []messages.AddTopicsToMirrorResponseTopicResult, err error) {
	asked := map[string]messages.AddTopicsToMirrorRequestTopicState{}
	var names []string
	for _, t := range r.Topics {
		asked[t.TopicName] = t
		names = append(names, t.TopicName)
	}
	found, err := f.source.Topics(ctx, d.Config, names, r.IncludePatterns, r.ExcludePatterns)
	if err != nil {
		return cmd, nil, err
	}
	cmd.Type = mirror.Type(r.MirrorType)
	// Naming topics without patterns leaves the mirror's patterns as they are.
	if len(r.IncludePatterns)+len(r.ExcludePatterns) > 0 {
		cmd.Include, cmd.Exclude = r.IncludePatterns, r.ExcludePatterns
	}
	have := map[string]bool{}
	for _, t := range found {
		want, named := asked[t.Name]
		kind := cmd.Type
		if named {
			kind = mirror.Type(want.MirrorType)
		}
		have[t.Name] = true
		if named && want.TopicId != [16]byte{} && core.TopicID(want.TopicId) != t.ID {
			missing = append(missing, startRefused(t.Name, perr.InconsistentTopicId,
				fmt.Sprintf("the source has topic %s under id %s, not %s", t.Name, t.ID, core.TopicID(want.TopicId))))
			continue
		}
		cmd.Topics = append(cmd.Topics, mirror.StartTopic{Source: t, Type: kind})
	}
	for _, name := range names {
		if !have[name] {
			missing = append(missing, startRefused(name, perr.UnknownTopicOrPartition,
				fmt.Sprintf("the source at %s has no topic %s", d.Config[bootstrapServers], name)))
		}
	}
	return cmd, missing, nil
}

func startRefused(name string, code perr.Code, why string) messages.AddTopicsToMirrorResponseTopicResult {
	out := messages.NewAddTopicsToMirrorResponseTopicResult()
	out.TopicName, out.ErrorCode, out.ErrorMessage = name, int16(code), &why
	return out
}
