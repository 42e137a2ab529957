package front

import (
	"regexp"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

// findTopic resolves a topic by name, or by id where the request version speaks of ids (compat-H02).
func findTopic(img *image.Image, name string, id core.TopicID, byID bool) (*image.Topic, perr.Code) {
	if byID {
		if t := img.Topics[id]; t != nil {
			return t, perr.None
		}
		return nil, perr.UnknownTopicId
	}
	if t := img.Topics[img.Names[name]]; t != nil && t.Name == name {
		return t, perr.None
	}
	return nil, perr.UnknownTopicOrPartition
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// legalName tells names that could exist from those that never can. Whether a new topic may have the name
// is the controller's to say: it keeps a few for itself.
func legalName(name string) bool { return name != "." && name != ".." && topicName.MatchString(name) }

// leaderHere is this broker's replica of a partition if it leads it, with the view that says so.
func (f *Front) leaderHere(t *image.Topic, index int32) (*broker.Replica, partition.View, perr.Code) {
	if index < 0 || int(index) >= len(t.Partitions) {
		return nil, partition.View{}, perr.UnknownTopicOrPartition
	}
	r, ok := f.broker.Replica(core.PartitionID{Topic: t.ID, Index: index})
	if !ok {
		return nil, partition.View{}, perr.NotLeaderOrFollower
	}
	v := r.View()
	if !v.IsLeader {
		return nil, v, perr.NotLeaderOrFollower
	}
	return r, v, perr.None
}

// leaderHint is where this broker's image has the leader of a partition, for an asker who is wrong here
// (KIP-951). ok is false when the image is older than what the replica itself knows, or knows nobody.
func leaderHint(img *image.Image, t *image.Topic, index int32, v partition.View) (b image.Broker, epoch core.LeaderEpoch, ok bool) {
	if index < 0 || int(index) >= len(t.Partitions) {
		return b, 0, false
	}
	p := t.Partitions[index]
	b, ok = img.Brokers[p.Leader]
	return b, p.LeaderEpoch, ok && b.Live && p.LeaderEpoch >= v.Epoch
}

// fenceEpoch compares the leader epoch a client believes in with ours; -1 skips (compat-E02).
func fenceEpoch(v partition.View, current int32) perr.Code {
	switch {
	case current < 0 || core.LeaderEpoch(current) == v.Epoch:
		return perr.None
	case core.LeaderEpoch(current) < v.Epoch:
		return perr.FencedLeaderEpoch
	default:
		return perr.UnknownLeaderEpoch
	}
}

// text makes the nullable string of a message; "" says nothing.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
