package front

import (
	"cmp"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// DescribeLogDirs v1–4: what the partitions of this broker take on its volume. Each broker has one and tells of its own;
// tools ask all of them, and old UIs fail without it (compat-A03). v2 is flexible, v3 has an error for the whole answer,
// v4 the space of the disk.

func (f *Front) describeLogDirs(r *kmsg.DescribeLogDirsRequest, from Client, slot *Slot) {
	if !f.mayCluster(from, access.Describe) {
		resp := r.ResponseKind().(*kmsg.DescribeLogDirsResponse)
		resp.ErrorCode = int16(perr.ClusterAuthorizationFailed) // which v3 brings; before it the answer is empty
		slot.Reply(resp)
		return
	}
	// Sizes come from the index, which may have to catch up: that is for the connection to wait for.
	slot.Turn(func() (kmsg.Response, bool) { return f.answerLogDirs(r), true })
}

func (f *Front) answerLogDirs(r *kmsg.DescribeLogDirsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = f.broker.Dir()
	img := f.broker.Image()
	replicas := f.replicasAsked(img, r)
	sizes, err := f.broker.Sizes(replicas)
	if err != nil {
		// As in Kafka: the directory is named, and nothing is said of what may be in it.
		f.log.Warn("log directory not described", "dir", dir.Dir, "reason", err.Error())
		dir.ErrorCode = int16(perr.KafkaStorageError)
		resp.Dirs = append(resp.Dirs, dir)
		return resp
	}
	if total, usable, err := f.broker.Space(); err == nil {
		dir.TotalBytes, dir.UsableBytes = total, usable
	}
	byTopic := map[string]*kmsg.DescribeLogDirsResponseDirTopic{}
	for i, replica := range replicas {
		id := replica.ID()
		name := img.Topics[id.Topic].Name
		topic := byTopic[name]
		if topic == nil {
			topic = &kmsg.DescribeLogDirsResponseDirTopic{Topic: name}
			byTopic[name] = topic
		}
		at := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		at.Partition, at.Size = id.Index, sizes[i]
		// What a follower knows of HW may be ahead of its own log, which is what a lag of the directory is.
		view := replica.View()
		at.OffsetLag = max(int64(view.Coming-view.LEO), 0)
		topic.Partitions = append(topic.Partitions, at)
	}
	for _, name := range slices.Sorted(maps.Keys(byTopic)) {
		dir.Topics = append(dir.Topics, *byTopic[name])
	}
	resp.Dirs = append(resp.Dirs, dir)
	return resp
}

// replicasAsked are the replicas of this broker that a request names, all of them if it names none. They are those of
// topics that img has. As in Kafka, what is not here is left out.
func (f *Front) replicasAsked(img *image.Image, r *kmsg.DescribeLogDirsRequest) []*broker.Replica {
	asked := map[core.PartitionID]bool{}
	for _, rt := range r.Topics {
		if t, code := findTopic(img, rt.Topic, core.TopicID{}, false); code == perr.None {
			for _, index := range rt.Partitions {
				asked[core.PartitionID{Topic: t.ID, Index: index}] = true
			}
		}
	}
	list := slices.DeleteFunc(f.broker.Replicas(), func(replica *broker.Replica) bool {
		return img.Topics[replica.ID().Topic] == nil || r.Topics != nil && !asked[replica.ID()]
	})
	slices.SortFunc(list, func(a, b *broker.Replica) int { return cmp.Compare(a.ID().Index, b.ID().Index) })
	return list
}
