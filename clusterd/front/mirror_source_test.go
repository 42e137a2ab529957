package front

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// farMirror is a destination that speaks raw messages to a source.
type farMirror struct {
	h          *house
	generation int64
	seq        int64
	data       [16]byte
}

func (m *farMirror) register(topic string, id core.TopicID, echo int64) messages.RegisterMirrorSyncTopicResponseTopicResult {
	m.h.t.Helper()
	m.generation++
	r := messages.NewPtrRegisterMirrorSyncTopicRequest()
	r.MirrorName, r.ClusterId = "m", "dc2"
	rt := messages.NewRegisterMirrorSyncTopicRequestTopicState()
	rt.TopicId, rt.TopicName, rt.Generation, rt.DataIncarnation, rt.MinIsr = id, topic, m.generation, m.data, 1
	rt.EchoRelease, rt.RecoveryPromotion, rt.Path = echo, echo > 0, []string{"dc2"}
	r.Topics = append(r.Topics, rt)
	return m.h.raw(1, r, 0).(*messages.RegisterMirrorSyncTopicResponse).Topics[0]
}

// fetch asks the leader with a floor for one partition under a registration epoch.
func (m *farMirror) fetch(broker core.ReplicaID, id core.TopicID, epoch, offset, floor int64, sourceEpoch int32) messages.FetchResponsePartition {
	m.h.t.Helper()
	resp := m.h.raw(int(broker), m.request(id, epoch, offset, floor, sourceEpoch), 20).(*messages.FetchResponse)
	return resp.Responses[0].Partitions[0]
}

func (m *farMirror) request(id core.TopicID, epoch, offset, floor int64, sourceEpoch int32) *messages.FetchRequest {
	r := fetchRequest(1<<20, ask{topic: id, offset: offset, current: sourceEpoch + 1})
	r.MirrorReplicaInfo.MirrorName = "m"
	floors := messages.NewReplicaFloors()
	floors.DestinationCluster, floors.MirrorName = "dc2", "m"
	t := messages.NewReplicaFloorsTopic()
	t.TopicId = id
	p := messages.NewReplicaFloorsPartition()
	m.seq++
	p.SourceEpoch, p.RegistrationEpoch, p.DataIncarnation, p.SourceIncarnation = sourceEpoch, epoch, m.data, m.h.cluster.Newest().Incarnation
	p.Floor, p.IsrSize, p.MinIsr, p.DestinationEpoch, p.Seq = floor, 1, 1, 1, m.seq
	t.Partitions = append(t.Partitions, p)
	floors.Topics = append(floors.Topics, t)
	r.MirrorReplicaInfo.Floors = &floors
	return r
}

// TestAMirrorGatesAcksAndReadsAboveHW walks one registration through its life over the Kafka port alone:
// register, gate, read above HW, release an ack by a floor, be released, return (C1 to C4, D21).
func TestAMirrorGatesAcksAndReadsAboveHW(t *testing.T) {
	h := newHouse(t, 3)
	id := core.TopicID(h.create("t", 1, 3, nil).ID)
	h.produce("t", values("before", 1))
	leader := h.leader("t", 0)
	m := &farMirror{h: h, data: [16]byte{1}}
	reg := m.register("t", id, 0)
	if reg.ErrorCode != 0 || reg.RegistrationEpoch == 0 {
		t.Fatalf("register: %+v", reg)
	}
	var p messages.FetchResponsePartition
	waitFor(t, "evidence of a gate", func() bool {
		p = m.fetch(leader, id, reg.RegistrationEpoch, 1, 1, 0)
		return p.Evidence != nil && p.Evidence.Gating
	})
	if p.ErrorCode != 0 || p.Evidence.GateStart != 1 || p.Evidence.RegistrationEpoch != reg.RegistrationEpoch || p.Evidence.TimeMs <= 0 {
		t.Fatalf("evidence %+v beside %s", p.Evidence, perr.Code(p.ErrorCode))
	}
	acked := make(chan kmsg.ProduceResponseTopicPartition, 1)
	c := dial(t, h.addrs[leader-1])
	sendRequest(t, c, 5, produceRequest("t", -1, oneRecord(plain, "gated")), 9)
	go func() {
		_, body := readResponse(t, c)
		acked <- decodeStrictly(t, produceAt(9), body).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	}()
	waitFor(t, "the record above HW, and word of the floor", func() bool {
		p = m.fetch(leader, id, reg.RegistrationEpoch, 1, 1, 0)
		return len(p.Records) > 0 && p.Evidence.FloorAccepted == 1
	})
	if p.HighWatermark != 1 {
		t.Errorf("HW %d while the mirror has not got the record", p.HighWatermark)
	}
	if r := fetchRequest(1<<20, ask{topic: id, offset: 1}); len(h.rawAt(leader, r, 20)[0].Records) > 0 {
		t.Error("a consumer reads above HW")
	}
	select {
	case a := <-acked:
		t.Fatalf("acknowledged before the mirror has it: %+v", a)
	case <-time.After(50 * time.Millisecond):
	}
	m.fetch(leader, id, reg.RegistrationEpoch, 2, 2, 0)
	if a := <-acked; a.ErrorCode != 0 || a.BaseOffset != 1 {
		t.Fatalf("after the floor: %+v", a)
	}
	release := m.release("t", id)
	if release.ErrorCode != 0 || release.ReleaseNumber == 0 || release.ClusterId != "dc2" {
		t.Fatalf("release: %+v", release)
	}
	h.produce("t", values("after the release", 1))
	waitFor(t, "the leader to deny the mirror", func() bool {
		p = m.fetch(leader, id, reg.RegistrationEpoch, 2, 2, 0)
		return perr.Code(p.ErrorCode) == perr.InvalidSyncRegistration
	})
	if p.ReleaseNumber != release.ReleaseNumber || len(p.Records) > 0 || p.Evidence != nil && p.Evidence.Gating {
		t.Errorf("after the release: number %d, %d bytes, evidence %+v", p.ReleaseNumber, len(p.Records), p.Evidence)
	}
	if again := m.register("t", id, 0); perr.Code(again.ErrorCode) != perr.MirrorSyncReleasedRequiresFreshPromotion || again.ReleaseNumber != release.ReleaseNumber {
		t.Errorf("a register that knows of no release: %+v", again)
	}
	if again := m.register("t", id, release.ReleaseNumber); again.ErrorCode != 0 || again.RegistrationEpoch <= reg.RegistrationEpoch {
		t.Errorf("a recovery: %+v", again)
	}
}

func produceAt(version int16) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.SetVersion(version)
	return r
}

func (h *house) rawAt(broker core.ReplicaID, r *messages.FetchRequest, version int16) (parts []messages.FetchResponsePartition) {
	h.t.Helper()
	for _, t := range h.raw(int(broker), r, version).(*messages.FetchResponse).Responses {
		parts = append(parts, t.Partitions...)
	}
	return parts
}

func (m *farMirror) release(topic string, id core.TopicID) *messages.UnregisterMirrorSyncTopicResponse {
	m.h.t.Helper()
	r := messages.NewPtrUnregisterMirrorSyncTopicRequest()
	r.MirrorName, r.Mode = "m", modeRelease
	rt := messages.NewUnregisterMirrorSyncTopicRequestTopicState()
	rt.TopicName = topic
	r.Topics = append(r.Topics, rt)
	return m.h.raw(2, r, 0).(*messages.UnregisterMirrorSyncTopicResponse)
}

// TestARegistrationOnItsWayIsPropagating: C1. The ledger knows it, this broker's image does not yet.
func TestARegistrationOnItsWayIsPropagating(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	b := h.cluster.Brokers()[0]
	b.HoldImage(true)
	m := &farMirror{h: h, data: [16]byte{1}}
	reg := m.register("t", id, 0)
	if reg.ErrorCode != 0 {
		t.Fatalf("register: %+v", reg)
	}
	p := m.fetch(1, id, reg.RegistrationEpoch, 1, 1, 0)
	if perr.Code(p.ErrorCode) != perr.MirrorRegistrationPropagating || p.Evidence != nil && p.Evidence.Gating {
		t.Errorf("%s, evidence %+v", perr.Code(p.ErrorCode), p.Evidence)
	}
	if p = m.fetch(1, id, reg.RegistrationEpoch+1, 1, 1, 0); perr.Code(p.ErrorCode) != perr.InvalidSyncRegistration {
		t.Errorf("an epoch that was never given: %s", perr.Code(p.ErrorCode))
	}
	b.HoldImage(false)
	waitFor(t, "the registration to arrive", func() bool {
		p = m.fetch(1, id, reg.RegistrationEpoch, 1, 1, 0)
		return p.ErrorCode == 0 && p.Evidence != nil && p.Evidence.Gating
	})
}

// TestAProduceIsAnsweredBeforeItsClientGivesUp: R10, D29. At 90 % of timeoutMs, with the mirror's name,
// mapped down below version 14.
func TestAProduceIsAnsweredBeforeItsClientGivesUp(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	m := &farMirror{h: h, data: [16]byte{1}}
	reg := m.register("t", id, 0)
	waitFor(t, "the gate", func() bool {
		p := m.fetch(1, id, reg.RegistrationEpoch, 1, 1, 0)
		return p.Evidence != nil && p.Evidence.Gating
	})
	for version, want := range map[int16]perr.Code{9: perr.NotEnoughReplicasAfterAppend, 14: perr.MirrorSyncReplicationTimeout} {
		r := produceRequest("t", -1, oneRecord(plain, "v"))
		r.Topics[0].TopicID, r.TimeoutMillis = id, 3000
		began := time.Now()
		got := h.raw(1, r, version).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if waited := time.Since(began); waited < 2690*time.Millisecond || waited >= 3*time.Second {
			t.Errorf("version %d: answered after %s of 3 s", version, waited)
		}
		if perr.Code(got.ErrorCode) != want || got.ErrorMessage == nil || !strings.Contains(*got.ErrorMessage, "not yet durable on m") {
			why := ""
			if got.ErrorMessage != nil {
				why = *got.ErrorMessage
			}
			t.Errorf("version %d: %s with the text %q", version, perr.Code(got.ErrorCode), why)
		}
	}
}

// TestDisksThatWereCopiedMayNotGate: C13. Two clusters with one producer id prefix would hand out the
// same ids after a failover.
func TestDisksThatWereCopiedMayNotGate(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	init := kmsg.NewPtrInitProducerIDRequest()
	if got := h.raw(1, init, 4).(*kmsg.InitProducerIDResponse); got.ErrorCode != 0 {
		t.Fatal(perr.Code(got.ErrorCode))
	}
	ask := func(prefix int32) *messages.RegisterMirrorSyncTopicResponse {
		r := messages.NewPtrRegisterMirrorSyncTopicRequest()
		r.MirrorName, r.ClusterId, r.ProducerIdPrefix = "m", "dc2", prefix
		rt := messages.NewRegisterMirrorSyncTopicRequestTopicState()
		rt.TopicId, rt.TopicName, rt.Generation, rt.MinIsr = id, "t", 1, 1
		r.Topics = append(r.Topics, rt)
		return h.raw(1, r, 0).(*messages.RegisterMirrorSyncTopicResponse)
	}
	ours := ask(-1).ProducerIdPrefix
	if ours < 0 {
		t.Fatalf("the source states prefix %d after it gave out an id", ours)
	}
	if got := ask(ours).Topics[0]; perr.Code(got.ErrorCode) != perr.InvalidSyncRegistration || got.ErrorMessage == nil {
		t.Errorf("the same prefix: %+v", got)
	}
	if got := ask(ours ^ 1).Topics[0]; got.ErrorCode != 0 {
		t.Errorf("another prefix: %+v", got)
	}
}

// gatedHouse is a topic with one record on a source that gates on m.
func gatedHouse(t *testing.T, brokers int) (h *house, m *farMirror, id core.TopicID, epoch int64) {
	t.Helper()
	h = newHouse(t, brokers)
	id = core.TopicID(h.create("t", 1, int16(brokers), nil).ID)
	h.produce("t", values("first", 1))
	m = &farMirror{h: h, data: [16]byte{1}}
	epoch = m.register("t", id, 0).RegistrationEpoch
	leader := h.leader("t", 0)
	waitFor(t, "the gate", func() bool {
		p := m.fetch(leader, id, epoch, 1, 1, 0)
		return p.Evidence != nil && p.Evidence.Gating
	})
	return h, m, id, epoch
}

// TestWeakAcksDoNotWaitForAMirror, and what they wrote is not readable before it is there (R13).
func TestWeakAcksDoNotWaitForAMirror(t *testing.T) {
	h, m, id, epoch := gatedHouse(t, 1)
	if got := h.produceOnce("t", 9, 1, oneRecord(plain, "weak")); got.ErrorCode != 0 || got.BaseOffset != 1 {
		t.Fatalf("acks=1: %+v", got)
	}
	if at := h.latest("t"); at != 1 {
		t.Errorf("the end is %d before the mirror has the record", at)
	}
	m.fetch(1, id, epoch, 2, 2, 0)
	waitFor(t, "the end to move", func() bool { return h.latest("t") == 2 })
}

// TestTheEndDoesNotGoBackAfterAnElection: compat-L09, compat-F14. A new leader that does not know yet how far
// HW was says so, instead of showing an earlier end; a fetch in between waits.
func TestTheEndDoesNotGoBackAfterAnElection(t *testing.T) {
	h, m, id, epoch := gatedHouse(t, 3)
	leader := h.leader("t", 0)
	c := dial(t, h.addrs[leader-1])
	sendRequest(t, c, 1, produceRequest("t", -1, oneRecord(plain, "unacknowledged")), 9)
	waitFor(t, "the record above HW", func() bool { return len(m.fetch(leader, id, epoch, 1, 1, 0).Records) > 0 })
	// In sync, so that whoever leads next has it.
	waitFor(t, "the record on every broker", func() bool {
		for _, b := range h.cluster.Brokers() {
			if r, ok := b.Replica(core.PartitionID{Topic: id}); !ok || r.View().LEO != 2 {
				return false
			}
		}
		return true
	})
	h.stopBroker(int(leader))
	var next core.ReplicaID
	waitFor(t, "another leader", func() bool { next = h.leader("t", 0); return next != leader })
	ended := func(version int16) perr.Code {
		r := kmsg.NewPtrListOffsetsRequest()
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = "t"
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Timestamp = -1
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
		return perr.Code(h.raw(int(next), r, version).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode)
	}
	end := func() perr.Code { return ended(7) }
	waitFor(t, "the new leader to serve", func() bool { return end() != perr.NotLeaderOrFollower })
	if code := end(); code != perr.OffsetNotAvailable {
		t.Errorf("the end of a leader that is not confirmed: %s", code)
	}
	if code := ended(4); code != perr.LeaderNotAvailable {
		t.Errorf("a client that does not know this code yet hears %s", code)
	}
	if p := h.rawAt(next, fetchRequest(1<<20, ask{topic: id, offset: 2}), 13)[0]; p.ErrorCode != 0 || len(p.Records) > 0 {
		t.Errorf("a fetch between HW and LEO: %s with %d bytes", perr.Code(p.ErrorCode), len(p.Records))
	}
	sourceEpoch := int32(0)
	waitFor(t, "the new leader to take a floor", func() bool {
		p := m.fetch(next, id, epoch, 2, 2, sourceEpoch)
		if p.Evidence == nil {
			return false
		}
		sourceEpoch = p.Evidence.SourceEpoch
		return p.Evidence.FloorAccepted == 2
	})
	waitFor(t, "the end", func() bool { return end() == perr.None })
}
