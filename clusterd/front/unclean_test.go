package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
)

// A partition that waits for a broker that will not come back is led by who is there once its topic allows that: an
// operator sets unclean.leader.election.enable because nobody leads, and not for the next time that a broker comes or goes.
func TestAnUncleanElectionIsHeldWhenItIsAllowed(t *testing.T) {
	for what, allow := range map[string]func(h *house){
		"on the topic": func(h *house) {
			if code, why := h.alterConfigs(kmsg.ConfigResourceTypeTopic, "t", false, set("unclean.leader.election.enable", "true")); code != 0 {
				t.Fatal(code, why)
			}
		},
		"for all": func(h *house) {
			if code, why := h.alterConfigs(kmsg.ConfigResourceTypeBroker, "", false, set("unclean.leader.election.enable", "true")); code != 0 {
				t.Fatal(code, why)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			h := newHouse(t, 3)
			h.create("t", 4, 2, nil)
			h.create("u", 1, 3, nil)
			h.produce("t", values("v", 20))
			topic, _ := h.cluster.Newest().TopicNamed("t")
			first, second := topic.Partitions[0].Replicas[0], topic.Partitions[0].Replicas[1]
			h.fence(second, false)
			h.fence(first, false)
			h.fence(second, true)
			leader := func() core.ReplicaID {
				topic, _ := h.cluster.Newest().TopicNamed("t")
				return topic.Partitions[0].Leader
			}
			if at := leader(); at != core.NoReplica {
				t.Fatalf("led by broker %d, which is not in sync", at)
			}
			allow(h)
			waitFor(t, "a leader", func() bool { return leader() == second })
		})
	}
}
