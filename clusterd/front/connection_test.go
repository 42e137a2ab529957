package front

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
)

// TestPipelinedRequestsAreAnsweredInOrder although each takes its own time: a long poll, a produce that
// waits for the disk, and questions answered at once (compat §1.3 rule 10).
func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 0, 0)
	idle := h.fill("idle", 0, 0)
	c := dial(t, h.addrs[0])
	poll := fetchRequest(1<<20, ask{topic: idle})
	poll.MaxWaitMs = 50
	requests := []struct {
		r       kmsg.Request
		version int16
	}{
		{poll, 13}, {kmsg.NewPtrMetadataRequest(), 9}, {produceRequest("t", -1, oneRecord(plain, "v")), 9},
		{fetchRequest(1<<20, ask{topic: id}), 13}, {kmsg.NewPtrApiVersionsRequest(), 0}, {poll, 13},
	}
	for i := range int32(5 * len(requests)) {
		q := requests[int(i)%len(requests)]
		sendRequest(t, c, i, q.r, q.version)
	}
	for i := range int32(5 * len(requests)) {
		if got, _ := readResponse(t, c); got != i {
			t.Fatalf("answer %d came in the place of %d", got, i)
		}
	}
}

// TestAClosedClientLeavesNothing: parked fetches, waiting joins and goroutines go with the connection
// (compat-S09).
func TestAClosedClientLeavesNothing(t *testing.T) {
	h := newHouse(t, 3)
	id := h.fill("t", 0, 0)
	leader := h.leader("t", 0)
	runtime.GC()
	before := runtime.NumGoroutine()
	var conns []net.Conn
	for range 20 {
		c := dial(t, h.addrs[leader-1])
		conns = append(conns, c)
		for i := range int32(10) {
			r := fetchRequest(1<<20, ask{topic: id})
			r.MaxWaitMs = 600_000
			sendRequest(t, c, i, r, 13)
		}
	}
	waitFor(t, "200 parked fetches", func() bool { return h.fronts[leader-1].inFlight() == 200 })
	for _, c := range conns {
		c.Close()
	}
	waitFor(t, "every connection to end", func() bool { return h.fronts[leader-1].inFlight() == 0 && h.memory.Held() == 0 })
	waitFor(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before+2 })
}

func (f *Front) inFlight() (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		n += c.flight.Load()
	}
	return n
}

// TestIdleConnectionsEnd, and those that wait for an answer do not (compat-S06).
func TestIdleConnectionsEnd(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 0, 0)
	limits := DefaultLimits()
	limits.Idle = 100 * time.Millisecond
	h.limits = limits
	h.restart()
	waitFor(t, "a leader", func() bool {
		r, ok := h.cluster.Leader(core.PartitionID{Topic: id}) // not over a connection: it might end before the question
		return ok && r.View().IsLeader
	})
	r := fetchRequest(1<<20, ask{topic: id})
	r.MaxWaitMs = 400
	waiting := dial(t, h.addrs[0])
	sendRequest(t, waiting, 1, r, 13)
	quiet := dial(t, h.addrs[0])
	if n, err := quiet.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("an idle connection was left open (%d bytes, %v)", n, err)
	}
	if got, _ := readResponse(t, waiting); got != 1 {
		t.Errorf("answer %d", got)
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// TestEveryServedVersionIsAnsweredInItsOwnForm: each api, each version, an ordinary request and an empty
// one; the answer must decode strictly. compat-H08.
func TestEveryServedVersionIsAnsweredInItsOwnForm(t *testing.T) {
	h := newHouse(t, 1)
	h.fill("t", 3, 10)
	for _, a := range messages.APIs() {
		t.Run(a.Name, func(t *testing.T) {
			for version := a.Min; version <= a.Max; version++ {
				for _, full := range []bool{false, true} {
					r, err := messages.NewRequest(a.Key, version)
					if err != nil {
						t.Fatal(err)
					}
					if d, ok := r.(interface{ Default() }); ok {
						d.Default()
					}
					if full {
						h.makeOrdinary(r)
					}
					if p, ok := r.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
						p.Acks = 1
					}
					if got := h.raw(1, r, version); got.GetVersion() != version || got.Key() != a.Key {
						t.Errorf("version %d: answered %d of key %d", version, got.GetVersion(), got.Key())
					}
				}
			}
		})
	}
}

// makeOrdinary fills a request in as a client would.
func (h *house) makeOrdinary(req kmsg.Request) {
	name := "t"
	topic, ok := h.cluster.Newest().TopicNamed(name)
	if !ok {
		return
	}
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		*r = *produceRequest(name, -1, oneRecord(plain, "v"))
		r.Topics[0].TopicID = topic.ID
	case *messages.FetchRequest:
		*r = *fetchRequest(1<<20, ask{topic: topic.ID})
		r.Topics[0].Topic = name
	case *kmsg.ListOffsetsRequest:
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = name
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Timestamp = -1
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
	case *kmsg.MetadataRequest:
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		r.Topics = append(r.Topics, rt)
	case *kmsg.OffsetCommitRequest:
		r.Group, r.Generation = "g", -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic, rt.TopicID = name, topic.ID
		rt.Partitions = append(rt.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
		r.Topics = append(r.Topics, rt)
	case *kmsg.OffsetFetchRequest:
		r.Group = "g"
		r.Topics = append(r.Topics, kmsg.OffsetFetchRequestTopic{Topic: name, Partitions: []int32{0}})
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group = "g"
		rg.Topics = append(rg.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: name, TopicID: topic.ID, Partitions: []int32{0, 9}})
		r.Groups = append(r.Groups, rg)
	case *kmsg.FindCoordinatorRequest:
		r.CoordinatorKey, r.CoordinatorKeys = "g", []string{"g", "h"}
	case *kmsg.JoinGroupRequest:
		r.Group, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis, r.ProtocolType = "j"+strings.Repeat("x", int(r.Version)), 1000, 1000, "consumer"
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: "range"})
	case *kmsg.HeartbeatRequest:
		r.Group, r.MemberID = "g", "nobody"
	case *kmsg.LeaveGroupRequest:
		r.Group, r.MemberID = "g", "nobody"
		r.Members = append(r.Members, kmsg.LeaveGroupRequestMember{MemberID: "nobody"})
	case *kmsg.SyncGroupRequest:
		r.Group, r.MemberID = "g", "nobody"
	case *kmsg.DescribeGroupsRequest:
		r.Groups = []string{"g", "unknown"}
	case *kmsg.DeleteGroupsRequest:
		r.Groups = []string{"g", "unknown"}
	case *kmsg.OffsetDeleteRequest:
		r.Group = "g"
		rt := kmsg.NewOffsetDeleteRequestTopic()
		rt.Topic = name
		rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: 0}, kmsg.OffsetDeleteRequestTopicPartition{Partition: 9})
		r.Topics = append(r.Topics, rt)
	case *kmsg.ConsumerGroupHeartbeatRequest:
		r.Group, r.MemberID, r.RebalanceTimeoutMillis = "k"+strings.Repeat("x", int(r.Version)), "m", 1000
		r.SubscribedTopicNames, r.Topics = []string{name}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	case *kmsg.ConsumerGroupDescribeRequest:
		r.Groups = []string{"k", "g", "unknown"}
	case *messages.CreateTopicsRequest:
		rt := messages.NewCreateTopicsRequestTopic()
		rt.Name, rt.NumPartitions, rt.ReplicationFactor = "made-"+strings.Repeat("x", int(r.Version)), 1, 1
		r.Topics = append(r.Topics, rt)
	case *kmsg.DeleteTopicsRequest:
		gone := "never-was"
		r.TopicNames = []string{gone}
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic = &gone
		r.Topics = append(r.Topics, rt)
	case *kmsg.OffsetForLeaderEpochRequest:
		rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
		rt.Topic = name
		rt.Partitions = append(rt.Partitions, kmsg.NewOffsetForLeaderEpochRequestTopicPartition())
		r.Topics = append(r.Topics, rt)
	case *kmsg.DescribeConfigsRequest:
		r.IncludeSynonyms, r.IncludeDocumentation = true, true
		r.Resources = append(r.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name},
			kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1"})
	case *kmsg.ApiVersionsRequest:
		r.ClientSoftwareName, r.ClientSoftwareVersion = "test", "1.0"
	case *messages.RegisterMirrorSyncTopicRequest:
		r.MirrorName = "m"
		rt := messages.NewRegisterMirrorSyncTopicRequestTopicState()
		rt.TopicName = "unknown"
		r.Topics = append(r.Topics, rt)
	case *messages.UnregisterMirrorSyncTopicRequest:
		r.MirrorName = "m"
		rt := messages.NewUnregisterMirrorSyncTopicRequestTopicState()
		rt.TopicName = "unknown"
		r.Topics = append(r.Topics, rt)
	}
}
