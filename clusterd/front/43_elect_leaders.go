package front

import (
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// ElectLeaders v0–2. A preferred election moves a partition to its first replica. By an unclean one an operator accepts
// the loss of a partition whose in-sync replicas are all LOSSY (R12).

const electUnclean int8 = 1 // before v1 every election is a preferred one

func (f *Front) electLeaders(r *kmsg.ElectLeadersRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.ElectLeadersResponse)
	if !f.mayCluster(from, access.Alter) {
		refusedElections(r.Topics, from, resp)
		slot.Reply(resp)
		return
	}
	elect, due := f.cluster.ElectPreferred, func(p image.Partition) bool { return p.Leader != p.Replicas[0] }
	switch r.ElectionType {
	case 0:
	case electUnclean:
		elect, due = f.cluster.AcceptLoss, func(p image.Partition) bool { return p.Leader == core.NoReplica }
	default:
		resp.ErrorCode = int16(perr.InvalidRequest)
		slot.Reply(resp)
		return
	}
	img := f.broker.Image()
	asked := electOnce(r.Topics)
	if r.Topics == nil { // all that have something to elect
		for _, name := range img.TopicNames() {
			t, _ := img.TopicNamed(name)
			rt := kmsg.ElectLeadersRequestTopic{Topic: name}
			for i, p := range t.Partitions {
				if due(p) {
					rt.Partitions = append(rt.Partitions, int32(i))
				}
			}
			if len(rt.Partitions) > 0 {
				asked = append(asked, rt)
			}
		}
	}
	total := 0
	for _, rt := range asked {
		total += len(rt.Partitions)
	}
	resp.Topics = make([]kmsg.ElectLeadersResponseTopic, len(asked))
	var mu sync.Mutex
	done := countdown(total, func() { slot.Reply(resp) })
	for i, rt := range asked {
		out := &resp.Topics[i]
		out.Topic = rt.Topic
		out.Partitions = make([]kmsg.ElectLeadersResponseTopicPartition, len(rt.Partitions))
		topic, code := findTopic(img, rt.Topic, core.TopicID{}, false)
		for j, index := range rt.Partitions {
			at := &out.Partitions[j]
			at.Partition = index
			if code != perr.None {
				at.ErrorCode, at.ErrorMessage = int16(code), text(fmt.Sprintf("no topic %s", rt.Topic))
				done()
				continue
			}
			elect(core.PartitionID{Topic: topic.ID, Index: index}, func(reply any) {
				defer done()
				mu.Lock()
				defer mu.Unlock()
				switch e := reply.(type) {
				case controller.Done:
					at.ErrorCode, at.ErrorMessage = int16(e.Code), text(e.Text)
				case shell.Failed:
					at.ErrorCode, at.ErrorMessage = int16(perr.RequestTimedOut), text(e.Text)
				default:
					panic("front: unknown answer to an election")
				}
			})
		}
	}
}

// refusedElections says of the whole request and of each partition that it is not for the asker: v0 knows no error of the whole.
func refusedElections(asked []kmsg.ElectLeadersRequestTopic, from Client, resp *kmsg.ElectLeadersResponse) {
	resp.ErrorCode = int16(perr.ClusterAuthorizationFailed)
	for _, rt := range electOnce(asked) {
		out := kmsg.ElectLeadersResponseTopic{Topic: rt.Topic}
		for _, index := range rt.Partitions {
			out.Partitions = append(out.Partitions, kmsg.ElectLeadersResponseTopicPartition{Partition: index,
				ErrorCode: resp.ErrorCode, ErrorMessage: text(denial(from, access.Alter, access.Cluster, access.ClusterName))})
		}
		resp.Topics = append(resp.Topics, out)
	}
}

// electOnce keeps the first mention of each partition: an election is a decision of the controller, and a request has
// room for a quarter of a million mentions.
func electOnce(asked []kmsg.ElectLeadersRequestTopic) (kept []kmsg.ElectLeadersRequestTopic) {
	seen := map[namedPartition]bool{}
	at := map[string]int{}
	for _, rt := range asked {
		i, again := at[rt.Topic]
		if !again {
			i = len(kept)
			at[rt.Topic] = i
			kept = append(kept, kmsg.ElectLeadersRequestTopic{Topic: rt.Topic})
		}
		for _, index := range rt.Partitions {
			if p := (namedPartition{rt.Topic, index}); !seen[p] {
				seen[p] = true
				kept[i].Partitions = append(kept[i].Partitions, index)
			}
		}
	}
	return kept
}
