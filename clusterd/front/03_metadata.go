package front

import (
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

// Metadata v0–13. v1 brings the controller, null apart from empty and racks, v2 the cluster id, v4 the
// client's word on auto-creation, v5 offline replicas, v7 leader epochs, v8 authorized operations, v9 is
// flexible, v10 topic ids, v12 questions by id, v13 an error for the whole answer.
//
// An answer comes from this broker's image alone, and that is the point: it may lag (D9). It is composed when its turn has
// come: a few bytes ask for all there is, and a connection may have many questions under way.

func (f *Front) metadata(r *kmsg.MetadataRequest, from Client, slot *Slot) {
	r.Topics = onceAsked(r.Topics)
	names, denied := f.topicsToCreate(r, from)
	if len(names) == 0 {
		slot.Turn(func() (kmsg.Response, bool) { return f.describeMetadata(r, from, denied), true })
		return
	}
	f.withMirrors(func(all []mirror.Description) {
		names = slices.DeleteFunc(names, func(name string) bool { return claims(all, name) })
		f.createByName(names, func(refused map[string]perr.Code) {
			maps.Copy(refused, denied)
			slot.Turn(func() (kmsg.Response, bool) { return f.describeMetadata(r, from, refused), true })
		})
	})
}

// onceAsked: Kafka, too, answers a topic that is named again once. nil means all topics and stays nil.
func onceAsked(topics []kmsg.MetadataRequestTopic) []kmsg.MetadataRequestTopic {
	type topic struct {
		id    [16]byte
		name  string
		named bool
	}
	return once(topics, func(t kmsg.MetadataRequestTopic) topic {
		if t.Topic == nil {
			return topic{id: t.TopicID}
		}
		return topic{t.TopicID, *t.Topic, true}
	})
}

// maxMadeByAsking bounds the topics that one question makes: a mebibyte of names would make a hundred thousand. The
// others are unknown for now, which every client answers by asking again.
const maxMadeByAsking = 100

// topicsToCreate are the names asked for that do not exist and may be made by asking: the broker allows
// it, the request allows it (before v4 a request always does), and the name is legal (compat-H03). Names
// that a mirror of this cluster means to own are taken out afterwards (D26). denied are those that the asker may not make.
func (f *Front) topicsToCreate(r *kmsg.MetadataRequest, from Client) (names []string, denied map[string]perr.Code) {
	if r.Version >= 4 && !r.AllowAutoTopicCreation || !f.autoCreates() {
		return nil, nil
	}
	makesAny := f.seesCluster(from, access.Create)
	img := f.broker.Image()
	for _, t := range r.Topics {
		if t.Topic == nil || t.TopicID != ([16]byte{}) {
			continue
		}
		if _, known := img.Names[*t.Topic]; known || !f.sees(from, access.Describe, access.Topic, *t.Topic) {
			continue
		}
		if !makesAny && !f.may(from, access.Create, access.Topic, *t.Topic) {
			if denied == nil {
				denied = map[string]perr.Code{}
			}
			denied[*t.Topic] = perr.TopicAuthorizationFailed
			continue
		}
		if !legalName(*t.Topic) {
			continue
		}
		if names = append(names, *t.Topic); len(names) == maxMadeByAsking {
			break
		}
	}
	return names, denied
}

// createByName makes topics with the defaults of the cluster and calls done with the refusals, once
// this broker knows those that were made, or after a second.
func (f *Front) createByName(names []string, done func(map[string]perr.Code)) {
	var mu sync.Mutex
	refused := map[string]perr.Code{}
	var made []string
	finish := countdown(len(names), func() { f.whenKnown(made, func() { done(refused) }) })
	for _, name := range names {
		f.cluster.CreateTopic(controller.CreateTopic{Name: name, Partitions: -1, Replication: -1}, func(reply any) {
			mu.Lock()
			if code, _ := createdCode(reply); code != perr.None && code != perr.TopicAlreadyExists {
				refused[name] = code
			} else {
				made = append(made, name)
			}
			mu.Unlock()
			finish()
		})
	}
}

// whenKnown calls done when this broker's image has the topics with leaders, or after a second: clients
// produce right after they were told (compat-A10).
func (f *Front) whenKnown(names []string, done func()) {
	f.whenSeen(func(img *image.Image) bool { return f.knowsLeaders(img, names) }, done)
}

func (f *Front) knowsLeaders(img *image.Image, names []string) bool {
	for _, name := range names {
		t, code := findTopic(img, name, core.TopicID{}, false)
		if code != perr.None {
			return false
		}
		for i, p := range t.Partitions {
			if p.Leader == core.NoReplica {
				continue // offline for a reason that waiting does not cure
			}
			b, ok := f.cluster.Broker(p.Leader)
			if !ok {
				return false
			}
			r, ok := b.Replica(core.PartitionID{Topic: t.ID, Index: int32(i)})
			if !ok || !r.View().IsLeader {
				return false
			}
		}
	}
	return true
}

func (f *Front) describeMetadata(r *kmsg.MetadataRequest, from Client, refused map[string]perr.Code) *kmsg.MetadataResponse {
	img := f.broker.Image()
	resp := r.ResponseKind().(*kmsg.MetadataResponse)
	cluster := string(img.Cluster)
	resp.ClusterID = &cluster
	resp.ControllerID = int32(img.Controller)
	resp.AuthorizedOperations = f.clusterOperations(from, r.IncludeClusterAuthorizedOperations)
	ops := func(topic string) int32 {
		return f.operations(from, access.Topic, topic, r.IncludeTopicAuthorizedOperations)
	}
	for _, b := range liveBrokers(img) {
		n := kmsg.NewMetadataResponseBroker()
		n.NodeID = int32(b.ID)
		n.Host, n.Port = from.at.told(b)
		resp.Brokers = append(resp.Brokers, n)
	}
	if asksForAll(r) {
		for _, t := range img.Topics {
			if f.sees(from, access.Describe, access.Topic, t.Name) {
				resp.Topics = append(resp.Topics, describeTopic(img, t, ops(t.Name)))
			}
		}
		sort.Slice(resp.Topics, func(i, j int) bool { return *resp.Topics[i].Topic < *resp.Topics[j].Topic })
		return resp
	}
	if r.Version >= 13 && f.settings[rebootstrap] == "true" && f.allMoved(img, from, r.Topics) {
		resp.ErrorCode = int16(perr.RebootstrapRequired)
	}
	for _, asked := range r.Topics {
		resp.Topics = append(resp.Topics, f.describeAsked(img, asked, r.Version, from, ops, refused))
	}
	return resp
}

// rebootstrap is the broker setting that sends clients on to where their topics have moved. It is off by default: a
// consumer group that moves finds no offsets of its own there.
const rebootstrap = "lockstep.superseded.rebootstrap"

// allMoved reports whether another cluster has taken over every topic that is asked for. A client that has any other
// business here must stay: the error is about the whole cluster (KIP-1102).
func (f *Front) allMoved(img *image.Image, from Client, topics []kmsg.MetadataRequestTopic) bool {
	for _, asked := range topics {
		name := ""
		if asked.Topic != nil {
			name = *asked.Topic
		}
		t, code := f.topicFor(from, access.Describe, img, name, asked.TopicID, asked.TopicID != [16]byte{})
		if code != perr.None || !img.Sync[t.ID].Fence.Moved {
			return false
		}
	}
	return len(topics) > 0
}

// asksForAll: at v0 an empty list means all topics, later only null does (compat-H01).
func asksForAll(r *kmsg.MetadataRequest) bool {
	if r.Version == 0 {
		return len(r.Topics) == 0
	}
	return r.Topics == nil
}

func (f *Front) describeAsked(img *image.Image, asked kmsg.MetadataRequestTopic, version int16, from Client, ops func(string) int32,
	refused map[string]perr.Code) kmsg.MetadataResponseTopic {
	byID := asked.TopicID != [16]byte{}
	var name string
	if asked.Topic != nil {
		name = *asked.Topic
	}
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.AuthorizedOperations = asked.Topic, asked.TopicID, noOperations
	if out.Topic == nil && version < 12 {
		out.Topic = new(string)
	}
	switch t, code := f.topicFor(from, access.Describe, img, name, asked.TopicID, byID); {
	case code == perr.None:
		return describeTopic(img, t, ops(t.Name))
	case byID || code == perr.TopicAuthorizationFailed:
		out.ErrorCode = int16(code)
	case refused[name] != perr.None:
		out.ErrorCode = int16(refused[name])
	case !legalName(name):
		out.ErrorCode = int16(perr.InvalidTopicException)
	default:
		out.ErrorCode = int16(code)
	}
	if perr.Code(out.ErrorCode) != perr.TopicAuthorizationFailed {
		out.AuthorizedOperations = ops(name)
	}
	return out
}

func describeTopic(img *image.Image, t *image.Topic, ops int32) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	name := t.Name
	out.Topic, out.TopicID, out.AuthorizedOperations = &name, t.ID, ops
	for i, p := range t.Partitions {
		at := kmsg.NewMetadataResponseTopicPartition()
		at.Partition, at.Leader, at.LeaderEpoch = int32(i), int32(p.Leader), int32(p.LeaderEpoch)
		at.Replicas, at.ISR = replicaIDs(p.Replicas), replicaIDs(p.ISR)
		at.OfflineReplicas = offlineReplicas(img, p)
		// Clients crash or spin on a leader that is not in the list of brokers (compat-H04).
		if !img.Brokers[p.Leader].Live {
			at.Leader = int32(core.NoReplica)
			at.ErrorCode = int16(perr.LeaderNotAvailable)
		}
		out.Partitions = append(out.Partitions, at)
	}
	return out
}

func offlineReplicas(img *image.Image, p image.Partition) (list []int32) {
	for _, id := range p.Replicas {
		if !img.Brokers[id].Live {
			list = append(list, int32(id))
		}
	}
	return list
}

func liveBrokers(img *image.Image) []image.Broker {
	list := allBrokers(img)
	n := 0
	for _, b := range list {
		if b.Live {
			list[n] = b
			n++
		}
	}
	return list[:n]
}

func allBrokers(img *image.Image) []image.Broker {
	list := make([]image.Broker, 0, len(img.Brokers))
	for _, b := range img.Brokers {
		list = append(list, b)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}

func replicaIDs(ids []core.ReplicaID) []int32 {
	list := make([]int32, len(ids))
	for i, id := range ids {
		list[i] = int32(id)
	}
	return list
}
