package front

import (
	"fmt"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/registration"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// UnregisterMirrorSyncTopic v0: a destination ends its registrations (DEMOTE, STOP), or this source's
// operator releases a mirror (RELEASE, D21). Which of them it is stands in the message, and is not told
// from who sends it (F53).

const (
	modeDemote  int8 = 0
	modeStop    int8 = 1
	modeRelease int8 = 2
)

// What a release does to recoveries (C4).
const (
	holdNone int8 = 0
	holdSet  int8 = 1
	holdLift int8 = 2
)

func (f *Front) unregisterMirrorSyncTopic(r *messages.UnregisterMirrorSyncTopicRequest, from Client, slot *Slot) {
	if code, why := f.judgeUnregister(r, from); code != perr.None {
		resp := r.ResponseKind().(*messages.UnregisterMirrorSyncTopicResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
		for i := range r.Topics {
			out := messages.NewUnregisterMirrorSyncTopicResponseTopicResult()
			out.TopicId, out.TopicName = r.Topics[i].TopicId, r.Topics[i].TopicName
			out.ErrorCode, out.ErrorMessage = resp.ErrorCode, resp.ErrorMessage
			resp.Topics = append(resp.Topics, out)
		}
		slot.Reply(resp)
		return
	}
	begin := func() {
		Unregister(f.cluster, r, func(resp *messages.UnregisterMirrorSyncTopicResponse) { slot.Reply(resp) })
	}
	if unregisterNumbered(r) {
		begin()
		return
	}
	slot.inTurn(begin)
}

// judgeUnregister: a release is an operator's, everything else a destination's.
func (f *Front) judgeUnregister(r *messages.UnregisterMirrorSyncTopicRequest, from Client) (perr.Code, string) {
	switch {
	case r.Mode == modeRelease && !f.may(from, access.Alter, access.ClusterMirror, r.MirrorName):
		return perr.ClusterMirrorAuthorizationFailed, denial(from, access.Alter, access.ClusterMirror, r.MirrorName)
	case r.Mode != modeRelease && !f.mayCluster(from, access.ClusterAction):
		return perr.ClusterAuthorizationFailed, denial(from, access.ClusterAction, access.Cluster, access.ClusterName)
	default:
		return perr.None, ""
	}
}

// Unregister asks the registration ledger. reply runs on the ledger's goroutine, or on the caller's.
func Unregister(c *broker.Cluster, r *messages.UnregisterMirrorSyncTopicRequest, reply func(*messages.UnregisterMirrorSyncTopicResponse)) {
	resp := r.ResponseKind().(*messages.UnregisterMirrorSyncTopicResponse)
	refuse := func(why string) {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.InvalidRequest), text(why)
		reply(resp)
	}
	switch {
	case r.Mode == modeRelease:
		release(c, r, resp, reply)
	case r.Mode != modeDemote && r.Mode != modeStop:
		refuse(fmt.Sprintf("mode %d; 0 is DEMOTE, 1 is STOP, 2 is RELEASE", r.Mode))
	case len(r.Topics) == 0:
		// Only a release may mean a whole mirror: an empty list from a destination is a mistake that
		// would un-gate everything.
		refuse("the request names no topics; only mode RELEASE means the whole mirror then")
	default:
		withdraw(c, r, resp, reply)
	}
}

// withdraw is the destination's wish, topic by topic. The first error is the answer's: a peer that
// speaks only the KIP sees no other.
func withdraw(c *broker.Cluster, r *messages.UnregisterMirrorSyncTopicRequest, resp *messages.UnregisterMirrorSyncTopicResponse,
	reply func(*messages.UnregisterMirrorSyncTopicResponse)) {
	key := core.MirrorKey{Cluster: core.ClusterID(r.ClusterId), Mirror: core.MirrorName(r.MirrorName)}
	resp.Topics = make([]messages.UnregisterMirrorSyncTopicResponseTopicResult, len(r.Topics))
	done := countdown(len(r.Topics), func() {
		for i := range resp.Topics {
			if resp.Topics[i].ErrorCode != 0 {
				resp.ErrorCode, resp.ErrorMessage = resp.Topics[i].ErrorCode, resp.Topics[i].ErrorMessage
				break
			}
		}
		reply(resp)
	})
	for i := range r.Topics {
		t, out := &r.Topics[i], &resp.Topics[i]
		*out = messages.NewUnregisterMirrorSyncTopicResponseTopicResult()
		out.TopicId, out.TopicName = t.TopicId, t.TopicName
		cmd := registration.UnregisterTopic{Key: key, Topic: t.TopicId, Name: t.TopicName,
			Generation: core.Generation(t.Generation), Mode: registration.Mode(r.Mode)}
		c.Registration(func(ref core.RequestID) registration.Command { cmd.Ref = ref; return cmd }, func(answer any) {
			defer done()
			switch e := answer.(type) {
			case registration.UnregisterAnswered:
				out.ErrorCode, out.ErrorMessage, out.NewestGeneration = int16(e.Code), text(e.Text), int64(e.Newest)
				out.Gated = e.LEO != nil
				for index, leo := range e.LEO {
					if leo == core.Unknown {
						continue
					}
					at := messages.NewUnregisterMirrorSyncTopicResponseUngated()
					at.Partition, at.LogEndOffset = int32(index), int64(leo)
					out.Partitions = append(out.Partitions, at)
				}
			case shell.Failed:
				out.ErrorCode, out.ErrorMessage = int16(perr.CoordinatorNotAvailable), text(e.Text)
			default:
				panic("front: unknown answer to UnregisterTopic")
			}
		})
	}
}

// release is the operator's: topics by id, or by name when the id is zero; none means the whole mirror.
func release(c *broker.Cluster, r *messages.UnregisterMirrorSyncTopicRequest, resp *messages.UnregisterMirrorSyncTopicResponse,
	reply func(*messages.UnregisterMirrorSyncTopicResponse)) {
	refuse := func(why string) {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.InvalidRequest), text(why)
		reply(resp)
	}
	switch {
	case r.Hold < holdNone || r.Hold > holdLift:
		refuse(fmt.Sprintf("hold %d; 0 is none, 1 holds recoveries back, 2 lifts a hold", r.Hold))
		return
	case r.AfterLease && r.Hold == holdLift:
		refuse("--unhold releases nothing: --after-lease does not go with it")
		return
	case r.Forget && r.Hold != holdNone:
		refuse("--forget gives the mirror's name away: there is nothing left to hold")
		return
	}
	var named []core.TopicID
	img := c.Newest()
	for _, t := range r.Topics {
		id := core.TopicID(t.TopicId)
		if id.IsZero() {
			topic, ok := img.TopicNamed(t.TopicName)
			if !ok {
				// A typo must not release less than was meant and look like success.
				resp.ErrorCode = int16(perr.UnknownTopicOrPartition)
				resp.ErrorMessage = text(fmt.Sprintf("cluster %s has no topic %s; nothing was released", c.ID(), t.TopicName))
				reply(resp)
				return
			}
			id = topic.ID
		}
		named = append(named, id)
	}
	c.Registration(func(ref core.RequestID) registration.Command {
		name := core.MirrorName(r.MirrorName)
		if r.Hold == holdLift {
			return registration.LiftHold{Ref: ref, Mirror: name, Topics: named, DryRun: r.DryRun}
		}
		return registration.ReleaseMirror{Ref: ref, Mirror: name, Topics: named, Forget: r.Forget, Hold: r.Hold == holdSet, DryRun: r.DryRun, Force: r.Force, AfterLease: r.AfterLease}
	}, func(answer any) {
		switch e := answer.(type) {
		case registration.ReleaseAnswered:
			resp.ErrorCode, resp.ErrorMessage = int16(e.Code), text(e.Text)
			resp.ClusterId, resp.ReleaseNumber = string(e.Cluster), int64(e.Number)
			resp.WaitMs, resp.Promised = e.Wait/1e6, e.Promised
			for _, t := range e.Topics {
				out := messages.NewUnregisterMirrorSyncTopicResponseTopicResult()
				out.TopicId, out.TopicName, out.Gated = t.Topic, t.Name, t.Gated
				out.ErrorCode, out.ErrorMessage = int16(t.Code), text(t.Text)
				resp.Topics = append(resp.Topics, out)
			}
		case shell.Failed:
			resp.ErrorCode, resp.ErrorMessage = int16(perr.CoordinatorNotAvailable), text(e.Text)
		default:
			panic("front: unknown answer to ReleaseMirror")
		}
		reply(resp)
	})
}
