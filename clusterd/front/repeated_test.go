package front

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// TestWhatIsAskedAgainIsAnsweredOnce: three bytes of a repeated name must not buy the whole answer once more. The
// answer to a question asked five hundred times is that to the question asked once.
func TestWhatIsAskedAgainIsAnsweredOnce(t *testing.T) {
	const times = 500
	h := newHouse(t, 1)
	h.create("t", 20, 1, nil)
	topic, group, gone := "t", "g", "gone"
	h.commitAs(group, topic, 0, string(make([]byte, 4000)))
	asked := map[string]func(n int) (kmsg.Request, int16){
		"DescribeConfigs of a topic": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrDescribeConfigsRequest()
			for i := range n {
				rr := kmsg.NewDescribeConfigsRequestResource()
				rr.ResourceType, rr.ResourceName = kmsg.ConfigResourceTypeTopic, topic
				if i%2 == 1 {
					rr.ConfigNames = []string{"retention.ms"}
				}
				r.Resources = append(r.Resources, rr)
			}
			return r, 4
		},
		"DescribeConfigs of a broker": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrDescribeConfigsRequest()
			r.IncludeDocumentation, r.IncludeSynonyms = true, true
			for range n {
				rr := kmsg.NewDescribeConfigsRequestResource()
				rr.ResourceType, rr.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
				r.Resources = append(r.Resources, rr)
			}
			return r, 4
		},
		"Metadata": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrMetadataRequest()
			for range n {
				rt := kmsg.NewMetadataRequestTopic()
				rt.Topic = &topic
				r.Topics = append(r.Topics, rt)
			}
			return r, 9
		},
		"Metadata of a topic that is not there": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrMetadataRequest()
			for range n {
				rt := kmsg.NewMetadataRequestTopic()
				rt.Topic = &gone
				r.Topics = append(r.Topics, rt)
			}
			return r, 9
		},
		"DescribeGroups": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrDescribeGroupsRequest()
			for range n {
				r.Groups = append(r.Groups, group)
			}
			return r, 5
		},
		"FindCoordinator": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrFindCoordinatorRequest()
			r.CoordinatorType = coordinatorTxn
			r.CoordinatorKeys = make([]string, n)
			return r, 4
		},
		"OffsetFetch of a partition": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrOffsetFetchRequest()
			r.Group = group
			rt := kmsg.NewOffsetFetchRequestTopic()
			rt.Topic, rt.Partitions = topic, make([]int32, n)
			r.Topics = append(r.Topics, rt)
			return r, 7
		},
		"OffsetFetch of a group": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrOffsetFetchRequest()
			for range n {
				rg := kmsg.NewOffsetFetchRequestGroup()
				rg.Group = group
				r.Groups = append(r.Groups, rg)
			}
			return r, 8
		},
		"OffsetFetch of a topic of a group": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrOffsetFetchRequest()
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group = group
			for range n {
				rt := kmsg.NewOffsetFetchRequestGroupTopic()
				rt.Topic, rt.Partitions = topic, make([]int32, 2)
				rg.Topics = append(rg.Topics, rt)
			}
			r.Groups = append(r.Groups, rg)
			return r, 8
		},
		"DeleteTopics": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrDeleteTopicsRequest()
			for range n {
				r.TopicNames = append(r.TopicNames, "never was")
			}
			return r, 5
		},
		"DescribeLogDirs": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrDescribeLogDirsRequest()
			for range n {
				r.Topics = append(r.Topics, kmsg.DescribeLogDirsRequestTopic{Topic: topic, Partitions: make([]int32, 2)})
			}
			return r, 3 // from 4 on the answer says how full the disk is
		},
		"DescribeTopicPartitions": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrDescribeTopicPartitionsRequest()
			for range n {
				r.Topics = append(r.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: topic})
			}
			return r, 0
		},
		"ListConfigResources": func(n int) (kmsg.Request, int16) {
			r := kmsg.NewPtrListConfigResourcesRequest()
			for range n {
				r.ResourceTypes = append(r.ResourceTypes, int8(kmsg.ConfigResourceTypeTopic))
			}
			return r, 1
		},
		"DescribeClusterMirrors": func(n int) (kmsg.Request, int16) {
			r := messages.NewDescribeClusterMirrorsRequest()
			for range n {
				r.MirrorNames = append(r.MirrorNames, "never was")
			}
			return &r, 0
		},
	}
	for name, ask := range asked {
		size := func(n int) int {
			r, version := ask(n)
			return len(h.raw(1, r, version).AppendTo(nil))
		}
		if one, many := size(1), size(times); one != many {
			t.Errorf("%s: %d bytes for one question, %d for it %d times", name, one, many, times)
		}
	}
}

// commitAs stores one offset as a consumer without a group's members.
func (h *house) commitAs(group, topic string, partition int32, metadata string) {
	h.t.Helper()
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation = group, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Partition, rp.Offset, rp.Metadata = partition, 1, &metadata
	rt.Partitions = append(rt.Partitions, rp)
	r.Topics = append(r.Topics, rt)
	if code := h.raw(1, r, 8).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
		h.t.Fatalf("commit to %s: %s", group, perr.Code(code))
	}
}

// TestOneQuestionMakesAHundredTopics: the others are made when they are asked for again.
func TestOneQuestionMakesAHundredTopics(t *testing.T) {
	h := newHouse(t, 1)
	ask := func() (made int) {
		r := kmsg.NewPtrMetadataRequest()
		r.AllowAutoTopicCreation = true
		for i := range maxMadeByAsking + 30 {
			rt := kmsg.NewMetadataRequestTopic()
			name := fmt.Sprint("made-", i)
			rt.Topic = &name
			r.Topics = append(r.Topics, rt)
		}
		for _, answered := range h.raw(1, r, 9).(*kmsg.MetadataResponse).Topics {
			switch perr.Code(answered.ErrorCode) {
			case perr.None:
				made++
			case perr.UnknownTopicOrPartition:
			default:
				t.Errorf("%s: %s", *answered.Topic, perr.Code(answered.ErrorCode))
			}
		}
		return made
	}
	if first, second := ask(), ask(); first != maxMadeByAsking || second != maxMadeByAsking+30 {
		t.Errorf("%d topics after the first question, %d after the second", first, second)
	}
}
