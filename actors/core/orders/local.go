package orders

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

// Local is what a destination adds to the commands of its mirrors.
type Local struct {
	Defaults mirror.Defaults
	Fresh    func() core.Incarnation // draws the incarnation of data that is begun or changed
	Topic    func(mirror.SourceTopic) mirror.LocalTopic
}

// Fill puts in what the sender of a command left zero. The command that was given is not changed.
func (l Local) Fill(cmd mirror.Command) mirror.Command {
	switch m := cmd.(type) {
	case mirror.CreateMirror:
		m.Defaults = l.Defaults
		return m
	case mirror.StartTopics:
		m.Topics = l.topics(m.Topics)
		return m
	case mirror.ObserveSource:
		m.Topics = l.topics(m.Topics)
		return m
	case mirror.RegisterAnswered:
		l.fresh(&m.Fresh)
		return m
	case mirror.UnregisterAnswered:
		l.fresh(&m.Fresh)
		return m
	case mirror.SupersedeAnswered:
		l.fresh(&m.Fresh)
		return m
	case mirror.RecoverTopics:
		l.fresh(&m.Fresh)
		return m
	case mirror.ReportReset:
		l.fresh(&m.Fresh)
		return m
	default:
		return cmd
	}
}

func (l Local) topics(list []mirror.StartTopic) []mirror.StartTopic {
	filled := slices.Clone(list)
	for i := range filled {
		l.fresh(&filled[i].Fresh)
		if filled[i].Local == (mirror.LocalTopic{}) {
			filled[i].Local = l.Topic(filled[i].Source)
		}
	}
	return filled
}

func (l Local) fresh(i *core.Incarnation) {
	if *i == (core.Incarnation{}) {
		*i = l.Fresh()
	}
}

// LocalTopic is what stands in an image under a source topic's name, or else its id. records counts what the leader
// of a partition holds, 0 if there is none.
func LocalTopic(img *image.Image, source mirror.SourceTopic, records func(core.PartitionID) int64) mirror.LocalTopic {
	t, exists := img.TopicNamed(source.Name)
	if !exists {
		t, exists = img.Topic(source.ID)
	}
	local := mirror.LocalTopic{State: image.MirrorNone}
	id := source.ID
	if exists {
		id = t.ID
		local.Exists, local.ID, local.Name = true, t.ID, t.Name
		for i := range t.Partitions {
			local.Records += records(core.PartitionID{Topic: t.ID, Index: int32(i)})
		}
	}
	if m, mirrored := img.Mirrors[id]; mirrored {
		local.Mirror, local.State = m.Mirror, m.State
	}
	return local
}

// TopicMade tells a mirror what became of its order for a local topic. One that is there already under the very id is
// the one that was asked for before.
func TopicMade(topic core.TopicID, a controller.CreatedTopic) mirror.LocalTopicAnswered {
	told := mirror.LocalTopicAnswered{Topic: topic, Code: a.Code, Text: a.Text}
	if a.Code == perr.TopicAlreadyExists && a.Topic.ID == topic {
		told.Code = perr.None
	}
	return told
}

// EpochRaised tells a mirror of a leader epoch that it wanted higher.
func EpochRaised(id core.PartitionID, a controller.EpochRaised) mirror.EpochAnswered {
	return mirror.EpochAnswered{ID: id, Code: a.Code, Epoch: a.Epoch}
}

// Fenced tells a mirror where its mirroring of a partition ended. epoch is the leader's own.
func Fenced(id core.PartitionID, a partition.MirrorFenced, epoch core.LeaderEpoch) mirror.FenceAnswered {
	return mirror.FenceAnswered{ID: id, OK: a.OK, LME: a.LME, LEO: a.LEO, Epoch: epoch}
}

// Returned lists the topics that mirrors have brought and that facts say are writable now: the ledger is told of them.
func Returned(img *image.Image, facts []image.Fact) (list []core.TopicID) {
	for _, f := range facts {
		if m, ok := f.(image.MirrorTopicChanged); ok && m.Topic.State == image.MirrorStopped {
			if _, exists := img.Topic(m.ID); exists {
				list = append(list, m.ID)
			}
		}
	}
	return list
}
