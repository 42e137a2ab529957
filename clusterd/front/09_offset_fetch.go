package front

import (
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// OffsetFetch v1–10. v2 brings "all partitions" and an error for the whole answer, v5 leader epochs,
// v6 is flexible, v7 require-stable (UNSTABLE_OFFSET_COMMIT while a transaction may change a position), v8 many
// groups, v9 member epochs, v10 topic ids. A group never seen is no error (compat-K1).

func (f *Front) offsetFetch(r *kmsg.OffsetFetchRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
	img := f.broker.Image()
	if r.Version < 8 {
		f.offsetFetchOne(img, r, from, resp, slot)
		return
	}
	r.Groups = once(r.Groups, func(g kmsg.OffsetFetchRequestGroup) string { return g.Group })
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(r.Groups))
	done := countdown(len(r.Groups), func() { slot.Reply(resp) })
	for i := range r.Groups {
		rg, out := &r.Groups[i], &resp.Groups[i]
		out.Group = rg.Group
		if !f.may(from, access.Describe, access.Group, rg.Group) {
			out.ErrorCode = int16(perr.GroupAuthorizationFailed)
			done()
			continue
		}
		cmd := group.OffsetFetch{Group: rg.Group, RequireStable: r.RequireStable}
		if r.Version >= 9 && (rg.MemberID != nil || rg.MemberEpoch >= 0) {
			cmd.MemberID, cmd.Epoch = new(string), rg.MemberEpoch
			if rg.MemberID != nil {
				cmd.MemberID = rg.MemberID
			}
		}
		if rg.Topics != nil {
			cmd.Topics = []group.TopicPartitions{}
		}
		var refused []kmsg.OffsetFetchResponseGroupTopic
		for _, rt := range onceFetched(rg.Topics) {
			topic, code := f.topicFor(from, access.Describe, img, rt.Topic, rt.TopicID, r.Version >= 10)
			if code == perr.TopicAuthorizationFailed || r.Version >= 10 && code != perr.None {
				refused = append(refused, refusedInFetch(rt, code))
				continue
			}
			asked := byName(img, rt.Topic, rt.Partitions)
			if r.Version >= 10 {
				asked.Topic, asked.ID = topic.Name, topic.ID
			}
			cmd.Topics = append(cmd.Topics, asked)
		}
		f.askGroup(rg.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, func(reply any, code perr.Code) {
			defer done()
			if code != perr.None {
				out.ErrorCode = int16(code)
				return
			}
			fetched := reply.(group.OffsetsFetched)
			out.ErrorCode = int16(fetched.Code)
			if fetched.Code == perr.None {
				out.Topics = refused
			}
			eachTopic(f.existing(img, from, cmd, fetched.Offsets), func(name string, list []group.FetchedOffset) {
				t := kmsg.NewOffsetFetchResponseGroupTopic()
				t.Topic = name
				if topic, ok := img.TopicNamed(name); ok {
					t.TopicID = topic.ID
				}
				for _, o := range list {
					p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
					p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, int64(o.Offset), int32(o.LeaderEpoch), &o.Metadata
					p.ErrorCode = int16(o.Code)
					t.Partitions = append(t.Partitions, p)
				}
				out.Topics = append(out.Topics, t)
			})
		})
	}
}

// onceFetched makes one question of each partition, which may come back with kilobytes of metadata.
func onceFetched(topics []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchRequestGroupTopic {
	type topic struct {
		id   [16]byte
		name string
	}
	topics = once(topics, func(t kmsg.OffsetFetchRequestGroupTopic) topic { return topic{t.TopicID, t.Topic} })
	for i := range topics {
		topics[i].Partitions = once(topics[i].Partitions, itself)
	}
	return topics
}

// byName asks for the offsets of the topic that has the name now: one that was deleted and made again does
// not inherit (F34).
func byName(img *image.Image, name string, partitions []int32) group.TopicPartitions {
	asked := group.TopicPartitions{Topic: name, Partitions: partitions}
	if topic, ok := img.TopicNamed(name); ok {
		asked.ID = topic.ID
	}
	return asked
}

func refusedInFetch(rt kmsg.OffsetFetchRequestGroupTopic, code perr.Code) kmsg.OffsetFetchResponseGroupTopic {
	t := kmsg.NewOffsetFetchResponseGroupTopic()
	t.Topic, t.TopicID = rt.Topic, rt.TopicID
	for _, index := range rt.Partitions {
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.ErrorCode = index, -1, -1, int16(code)
		p.Metadata = new(string)
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// offsetFetchOne serves the versions that ask for one group. Before v2 an error has no place but each
// partition (compat-G06).
func (f *Front) offsetFetchOne(img *image.Image, r *kmsg.OffsetFetchRequest, from Client, resp *kmsg.OffsetFetchResponse, slot *Slot) {
	cmd := group.OffsetFetch{Group: r.Group, RequireStable: r.RequireStable}
	if r.Topics != nil || r.Version < 2 {
		cmd.Topics = []group.TopicPartitions{}
	}
	r.Topics = once(r.Topics, func(t kmsg.OffsetFetchRequestTopic) string { return t.Topic })
	var denied []group.FetchedOffset
	for i := range r.Topics {
		rt := &r.Topics[i]
		rt.Partitions = once(rt.Partitions, itself)
		if f.may(from, access.Describe, access.Topic, rt.Topic) {
			cmd.Topics = append(cmd.Topics, byName(img, rt.Topic, rt.Partitions))
			continue
		}
		for _, index := range rt.Partitions {
			denied = append(denied, group.FetchedOffset{Topic: rt.Topic, Partition: index, Offset: core.Unknown, LeaderEpoch: core.NoEpoch, Code: perr.TopicAuthorizationFailed})
		}
	}
	answer := func(reply any, code perr.Code) {
		var offsets []group.FetchedOffset
		if code == perr.None {
			fetched := reply.(group.OffsetsFetched)
			code, offsets = fetched.Code, f.existing(img, from, cmd, fetched.Offsets)
			offsets = append(offsets, denied...)
		}
		if code != perr.None && r.Version < 2 {
			for _, rt := range r.Topics {
				for _, index := range rt.Partitions {
					offsets = append(offsets, group.FetchedOffset{Topic: rt.Topic, Partition: index, Offset: core.Unknown, LeaderEpoch: core.NoEpoch})
				}
			}
		}
		eachTopic(offsets, func(name string, list []group.FetchedOffset) {
			t := kmsg.NewOffsetFetchResponseTopic()
			t.Topic = name
			for _, o := range list {
				p := kmsg.NewOffsetFetchResponseTopicPartition()
				p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, int64(o.Offset), int32(o.LeaderEpoch), &o.Metadata
				p.ErrorCode = int16(o.Code)
				if r.Version < 2 && code != perr.None {
					p.ErrorCode = int16(code)
				}
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		})
		resp.ErrorCode = int16(code)
		slot.Reply(resp)
	}
	if !f.may(from, access.Describe, access.Group, r.Group) {
		answer(nil, perr.GroupAuthorizationFailed)
		return
	}
	f.askGroup(r.Group, func(ref core.RequestID) group.Command { cmd.Ref = ref; return cmd }, answer)
}

// existing leaves out what is stored of topics that do not exist, or not any more under the id, when everything was
// asked for (F34): whoever copies all offsets of a group would bring those of a deleted topic back. Those of topics that the
// asker may not describe are left out as well.
func (f *Front) existing(img *image.Image, from Client, asked group.OffsetFetch, offsets []group.FetchedOffset) []group.FetchedOffset {
	if asked.Topics != nil {
		return offsets
	}
	return slices.DeleteFunc(offsets, func(o group.FetchedOffset) bool {
		topic, ok := img.TopicNamed(o.Topic)
		return !ok || !o.TopicID.IsZero() && o.TopicID != topic.ID || !f.sees(from, access.Describe, access.Topic, o.Topic)
	})
}

// eachTopic calls f for each run of offsets of one topic.
func eachTopic(offsets []group.FetchedOffset, f func(name string, list []group.FetchedOffset)) {
	for from := 0; from < len(offsets); {
		to := from + 1
		for to < len(offsets) && offsets[to].Topic == offsets[from].Topic {
			to++
		}
		f(offsets[from].Topic, offsets[from:to])
		from = to
	}
}

// countdown makes a function whose n-th call calls last; with n == 0 it is called at once.
func countdown(n int, last func()) func() {
	if n == 0 {
		last()
		return func() {}
	}
	var mu sync.Mutex
	return func() {
		mu.Lock()
		n--
		zero := n == 0
		mu.Unlock()
		if zero {
			last()
		}
	}
}
