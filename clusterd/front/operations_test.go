package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/protocol/messages"
)

// Whoever asks what they may do is told: everything, as by a Kafka without an authorizer. The answer was that it had not been
// asked. The numbers are Kafka's.
func TestWhoAsksWhatTheyMayDoIsTold(t *testing.T) {
	const topic, group, cluster, none = 3576, 3400, 8096, -2147483648
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	h.commitAs("g", "t", 0, "")
	for _, asked := range []bool{false, true} {
		want := func(all int32) int32 {
			if asked {
				return all
			}
			return none
		}
		check := func(what string, version int16, got, want int32) {
			t.Helper()
			if got != want {
				t.Errorf("%s v%d, asked %t: %d, want %d", what, version, asked, got, want)
			}
		}
		for version := int16(8); version <= 13; version++ {
			r := metadataOf("t", "nobody")
			r.IncludeClusterAuthorizedOperations, r.IncludeTopicAuthorizedOperations = asked, asked
			resp := h.raw(1, r, version).(*kmsg.MetadataResponse)
			if version <= 10 {
				check("Metadata", version, resp.AuthorizedOperations, want(cluster))
			}
			for _, rt := range resp.Topics {
				check("Metadata of "+*rt.Topic, version, rt.AuthorizedOperations, want(topic))
			}
		}
		for version := int16(0); version <= 2; version++ {
			r := kmsg.NewPtrDescribeClusterRequest()
			r.IncludeClusterAuthorizedOperations = asked
			check("DescribeCluster", version, h.raw(1, r, version).(*kmsg.DescribeClusterResponse).ClusterAuthorizedOperations, want(cluster))
		}
		for version := int16(3); version <= 6; version++ {
			r := kmsg.NewPtrDescribeGroupsRequest()
			r.Groups, r.IncludeAuthorizedOperations = []string{"g", "nobody"}, asked
			for _, g := range h.raw(1, r, version).(*kmsg.DescribeGroupsResponse).Groups {
				all := want(group)
				if g.ErrorCode != 0 {
					all = none
				}
				check("DescribeGroups of "+g.Group, version, g.AuthorizedOperations, all)
			}
		}
	}
	r := kmsg.NewPtrDescribeTopicPartitionsRequest()
	r.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "t"}, {Topic: "nobody"}}
	for _, rt := range h.raw(1, r, 0).(*kmsg.DescribeTopicPartitionsResponse).Topics {
		if rt.AuthorizedOperations != topic {
			t.Errorf("DescribeTopicPartitions of %s: %d", *rt.Topic, rt.AuthorizedOperations)
		}
	}
}

// With an authorizer everybody is told what they may do themselves, and of the cluster nothing without the right to describe it.
func TestWhoAsksIsToldWhatTheyMayDo(t *testing.T) {
	const read, write, alter, describe, create = 1 << 3, 1 << 4, 1 << 7, 1 << 8, 1 << 5
	h := guarded(t, nil)
	h.secrets()
	bob, carol := access.UserNamed("bob"), access.UserNamed("carol")
	h.allow(right(bob, "READ TOPIC"), right(bob, "WRITE TOPIC"), right(bob, "READ GROUP"), right(bob, "CREATE CLUSTER"), right(bob, "ALTER CLUSTER_MIRROR"),
		right(carol, "CREATE CLUSTER"), right(carol, "DESCRIBE CLUSTER"))
	all := metadataOf(secretTopic)
	all.IncludeClusterAuthorizedOperations, all.IncludeTopicAuthorizedOperations = true, true
	described := h.as(bob, all, 10).(*kmsg.MetadataResponse)
	groups := kmsg.NewPtrDescribeGroupsRequest()
	groups.Groups, groups.IncludeAuthorizedOperations = []string{secretGroup, secretConsumers}, true
	told := h.as(bob, groups, 6).(*kmsg.DescribeGroupsResponse)
	pages := kmsg.NewPtrDescribeTopicPartitionsRequest()
	pages.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: secretTopic}}
	mirrors := messages.NewPtrDescribeClusterMirrorsRequest()
	mirrors.MirrorNames, mirrors.IncludeAuthorizedOperations = []string{secretMirror}, true
	cluster := kmsg.NewPtrDescribeClusterRequest()
	cluster.IncludeClusterAuthorizedOperations = true
	for name, c := range map[string]struct{ got, want int32 }{
		"the topic":          {described.Topics[0].AuthorizedOperations, read | write | describe},
		"the topic in pages": {h.as(bob, pages, 0).(*kmsg.DescribeTopicPartitionsResponse).Topics[0].AuthorizedOperations, read | write | describe},
		"the cluster":        {described.AuthorizedOperations, 0},
		"the group":          {told.Groups[0].AuthorizedOperations, read | describe},
		"another group":      {told.Groups[1].AuthorizedOperations, noOperations},
		"the mirror":         {h.as(bob, mirrors, 0).(*messages.DescribeClusterMirrorsResponse).Mirrors[0].AuthorizedOperations, alter | describe},
		"carol's cluster":    {h.as(carol, cluster, 2).(*kmsg.DescribeClusterResponse).ClusterAuthorizedOperations, create | describe},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
}
