package group

import (
	"fmt"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/actors/core/image"
)

// A group of 500 members over 1,000 partitions: a heartbeat that changes nothing, and a member that joins and leaves.
func BenchmarkConsumers(b *testing.B) {
	s := Machine().Init("")
	id := topicID("t")
	img := &image.Image{Version: 1, Topics: map[core.TopicID]*image.Topic{id: {ID: id, Name: "t", Partitions: make([]image.Partition, 1000)}}, Names: map[string]core.TopicID{"t": id}}
	do := func(c ConsumerBeat) ConsumerBeaten {
		c.Ref, c.Group, c.RebalanceMs, c.Topics, c.Image = 1, "g", 1000, []string{"t"}, img
		out := Machine().Decide(s, core.Now{Mono: 1}, c)
		for _, ev := range out.Events {
			Machine().Apply(s, ev)
		}
		return out.Late[0].(ConsumerBeaten)
	}
	for i := range 500 {
		do(ConsumerBeat{MemberID: fmt.Sprint("m", i), Owned: assignor.Partitions{}})
	}
	for s.groups["g"].consumers.state() != "Stable" {
		for id, m := range s.groups["g"].consumers.members {
			do(ConsumerBeat{MemberID: id, Epoch: m.epoch, Owned: m.assigned})
		}
	}
	m := s.groups["g"].consumers.members["m7"]
	b.Run("heartbeat", func(b *testing.B) {
		for b.Loop() {
			do(ConsumerBeat{MemberID: "m7", Epoch: m.epoch})
		}
	})
	b.Run("join and leave", func(b *testing.B) {
		for b.Loop() {
			do(ConsumerBeat{MemberID: "new", Owned: assignor.Partitions{}})
			do(ConsumerBeat{MemberID: "new", Epoch: leaving})
		}
	})
}
