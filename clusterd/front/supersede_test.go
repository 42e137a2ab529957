package front

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func (m *farMirror) supersede(mode int8, topic string, id core.TopicID, era int64) messages.SupersedeMirrorTopicsResponseTopicResult {
	m.h.t.Helper()
	r := messages.NewPtrSupersedeMirrorTopicsRequest()
	r.MirrorName, r.ClusterId, r.Mode = "m", "dc2", mode
	t := messages.NewSupersedeMirrorTopicsRequestTopicState()
	t.TopicId, t.TopicName, t.Generation, t.Era = id, topic, m.generation, era
	r.Topics = append(r.Topics, t)
	resp := m.h.raw(1, r, 0).(*messages.SupersedeMirrorTopicsResponse)
	if len(resp.Topics) != 1 {
		m.h.t.Fatalf("answered %+v", resp)
	}
	return resp.Topics[0]
}

func (h *house) sourceTopic(topic string) messages.DescribeClusterMirrorsResponseSourceTopic {
	h.t.Helper()
	resp := h.raw(1, messages.NewPtrDescribeClusterMirrorsRequest(), 0).(*messages.DescribeClusterMirrorsResponse)
	for _, s := range resp.Sources {
		if s.TopicName == topic {
			return s
		}
	}
	h.t.Fatalf("%s is not among %+v", topic, resp.Sources)
	return messages.DescribeClusterMirrorsResponseSourceTopic{}
}

// The planned move over the Kafka port alone: fenced for any acks while the mirror lacks a record that was acknowledged
// with acks=1, handed over when it has it, described on the way (C8).
func TestASourceHandsATopicOver(t *testing.T) {
	h, m, id, epoch := gatedHouse(t, 1)
	if got := h.produceOnce("t", 9, 1, oneRecord(plain, "weak")); got.ErrorCode != 0 {
		t.Fatalf("acks=1: %+v", got)
	}
	m.generation++
	got := m.supersede(3, "t", id, 1)
	if got.Outcome != 1 || got.Era != 1 || got.ErrorMessage == nil || !strings.Contains(*got.ErrorMessage, "partition 0 ends at 2") {
		t.Fatalf("asked: %+v", got)
	}
	for _, acks := range []int16{-1, 1} {
		if got := h.produceOnce("t", 9, acks, oneRecord(plain, "late")); perr.Code(got.ErrorCode) != perr.NotLeaderOrFollower {
			t.Errorf("acks=%d while fenced: %+v", acks, got)
		}
	}
	if s := h.sourceTopic("t"); s.Standing != "FENCED" || s.SuccessorCluster != "dc2" || len(s.Registrations) != 1 || !s.Registrations[0].Registered {
		t.Errorf("described %+v", s)
	}
	m.fetch(1, id, epoch, 2, 2, 0)
	if got := m.supersede(3, "t", id, 1); got.Outcome != 2 || got.Era != 1 || len(got.Ends) != 1 || got.Ends[0].LogEndOffset != 2 {
		t.Fatalf("with the mirror at the end: %+v", got)
	}
	if s := h.sourceTopic("t"); s.Standing != "SUPERSEDED" || !s.Planned || s.SuccessorEra != 1 {
		t.Errorf("described %+v", s)
	}
	if p := m.fetch(1, id, epoch, 1, 2, 0); len(p.Records) == 0 {
		t.Errorf("a source that handed over does not serve its mirror: %+v", p)
	}
}

// Clients are sent on to their bootstrap servers only where the operator wants it, only in a version that can say so,
// and only if all they ask for has moved: the error is about the whole cluster (KIP-1102).
func TestClientsAreSentOnAfterATakeover(t *testing.T) {
	h, m, id, _ := gatedHouse(t, 1)
	h.create("stays", 1, 1, nil)
	m.generation++
	if got := m.supersede(4, "t", id, 1); got.Outcome != 2 {
		t.Fatalf("news of a failover: %+v", got)
	}
	waitFor(t, "the fence", func() bool {
		return perr.Code(h.produceOnce("t", 9, 1, oneRecord(plain, "late")).ErrorCode) == perr.PolicyViolation
	})
	ask := func(version int16, topics ...string) perr.Code {
		r := kmsg.NewPtrMetadataRequest()
		for _, name := range topics {
			r.Topics = append(r.Topics, kmsg.MetadataRequestTopic{Topic: &name})
		}
		return perr.Code(h.raw(1, r, version).(*kmsg.MetadataResponse).ErrorCode)
	}
	if got := ask(13, "t"); got != perr.None {
		t.Errorf("by default: %s", got)
	}
	h.settings[rebootstrap] = "true"
	for _, row := range []struct {
		version int16
		topics  []string
		want    perr.Code
	}{{13, []string{"t"}, perr.RebootstrapRequired}, {12, []string{"t"}, perr.None}, {13, []string{"t", "stays"}, perr.None}, {13, nil, perr.None}, {13, []string{"t", "unknown"}, perr.None}} {
		if got := ask(row.version, row.topics...); got != row.want {
			t.Errorf("v%d %v: %s, want %s", row.version, row.topics, got, row.want)
		}
	}
}

func TestAModeThatIsNoneIsRefused(t *testing.T) {
	h := newHouse(t, 1)
	r := messages.NewPtrSupersedeMirrorTopicsRequest()
	r.MirrorName, r.ClusterId, r.Mode = "m", "dc2", 0
	if got := h.raw(1, r, 0).(*messages.SupersedeMirrorTopicsResponse); perr.Code(got.ErrorCode) != perr.InvalidRequest {
		t.Errorf("mode 0: %+v", got)
	}
	stop := messages.NewPtrStopMirrorTopicsRequest()
	stop.MirrorName, stop.Verb = "m", 7
	if got := h.raw(1, stop, 0).(*messages.StopMirrorTopicsResponse); perr.Code(got.ErrorCode) != perr.InvalidRequest {
		t.Errorf("verb 7: %+v", got)
	}
}
