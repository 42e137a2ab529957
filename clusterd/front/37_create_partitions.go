package front

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// CreatePartitions v0–3. v2 is flexible. A mirrored topic gets its partitions from the mirror alone.

func (f *Front) createPartitions(r *kmsg.CreatePartitionsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.CreatePartitionsResponse)
	resp.Topics = make([]kmsg.CreatePartitionsResponseTopic, len(r.Topics))
	img := f.broker.Image()
	times := map[string]int{}
	for i := range r.Topics {
		times[r.Topics[i].Topic]++
	}
	asked := f.partitionsAdded(img, r, from)
	grown := map[core.TopicID]int32{}
	var cmds []controller.CreatePartitions
	var outs []*kmsg.CreatePartitionsResponseTopic
	for i := range r.Topics {
		rt, out := &r.Topics[i], &resp.Topics[i]
		*out = kmsg.NewCreatePartitionsResponseTopic()
		out.Topic = rt.Topic
		topic, code := f.topicFor(from, access.Alter, img, rt.Topic, core.TopicID{}, false)
		why := code.Message()
		switch {
		case times[rt.Topic] == 1 && code == perr.TopicAuthorizationFailed:
		case asked > maxPartitionsAsked:
			code, why = perr.PolicyViolation, tooManyPartitions(asked)
		case times[rt.Topic] > 1:
			code, why = perr.InvalidRequest, fmt.Sprintf("topic %s is named %d times in one request", rt.Topic, times[rt.Topic])
		case code == perr.None:
			code, why = mirroredRefusal(img, topic)
		}
		if code != perr.None {
			out.ErrorCode, out.ErrorMessage = int16(perr.ForVersion(messages.KeyCreatePartitions, r.Version, code)), text(why)
			continue
		}
		cmd := controller.CreatePartitions{ID: topic.ID, Count: rt.Count, DryRun: r.ValidateOnly}
		for _, a := range rt.Assignment {
			ids := []core.ReplicaID{}
			for _, id := range a.Replicas {
				ids = append(ids, core.ReplicaID(id))
			}
			cmd.Assignment = append(cmd.Assignment, ids)
		}
		if !r.ValidateOnly {
			grown[topic.ID] = rt.Count
		}
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	done := countdown(len(cmds), func() { f.whenGrown(grown, func() { slot.Reply(resp) }) })
	for i, cmd := range cmds {
		f.cluster.CreatePartitions(cmd, func(reply any) {
			defer done()
			switch e := reply.(type) {
			case controller.Done:
				outs[i].ErrorCode, outs[i].ErrorMessage = int16(e.Code), text(e.Text)
			case shell.Failed:
				outs[i].ErrorCode, outs[i].ErrorMessage = int16(perr.RequestTimedOut), text(e.Text)
			default:
				panic("front: unknown answer to CreatePartitions")
			}
		})
	}
}

// partitionsAdded is how many partitions a request adds if nothing else is wrong with it.
func (f *Front) partitionsAdded(img *image.Image, r *kmsg.CreatePartitionsRequest, from Client) (n int64) {
	for i := range r.Topics {
		if t, code := f.topicFor(from, access.Alter, img, r.Topics[i].Topic, core.TopicID{}, false); code == perr.None {
			n += max(int64(r.Topics[i].Count)-int64(len(t.Partitions)), 0)
		}
	}
	return n
}

// whenGrown calls done when this broker's image has as many partitions, or after a second: clients ask another
// broker for them at once, and a refused topic never grows.
func (f *Front) whenGrown(counts map[core.TopicID]int32, done func()) {
	f.whenSeen(func(img *image.Image) bool {
		for id, n := range counts {
			if t, ok := img.Topic(id); ok && int32(len(t.Partitions)) < n {
				return false
			}
		}
		return true
	}, done)
}
