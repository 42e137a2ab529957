package front

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// commitRaw commits one offset of a simple consumer and returns what the partition was told.
func (h *house) commitRaw(group, topic string) perr.Code {
	h.t.Helper()
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation = group, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	rt.Partitions = append(rt.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
	r.Topics = append(r.Topics, rt)
	return perr.Code(h.raw(1, r, 8).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

// TestWhereAnErrorOfOffsetFetchStands: compat-G06. Before v2 in each partition, then for the answer, from v8 for each group.
func TestWhereAnErrorOfOffsetFetchStands(t *testing.T) {
	h := newHouse(t, 2)
	h.create("t", 1, 2, nil)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	owner := int(h.raw(1, find, 1).(*kmsg.FindCoordinatorResponse).NodeID)
	for version := int16(1); version <= 10; version++ {
		r := kmsg.NewPtrOffsetFetchRequest()
		h.makeOrdinary(r)
		resp := h.raw(3-owner, r, version).(*kmsg.OffsetFetchResponse)
		switch {
		case version < 2:
			if p := resp.Topics[0].Partitions[0]; perr.Code(p.ErrorCode) != perr.NotCoordinator || p.Offset != -1 {
				t.Errorf("version %d: %+v", version, resp)
			}
		case version < 8:
			if perr.Code(resp.ErrorCode) != perr.NotCoordinator {
				t.Errorf("version %d: %+v", version, resp)
			}
		default:
			if g := resp.Groups[0]; perr.Code(g.ErrorCode) != perr.NotCoordinator {
				t.Errorf("version %d: %+v", version, resp)
			}
		}
	}
}

// TestMembersOfAGroupNeverSeen: compat-K3 and compat-G07. They are unknown members, not members of an unknown group, and
// LeaveGroup says so of the only member up to v2, and of each from v3.
func TestMembersOfAGroupNeverSeen(t *testing.T) {
	h := newHouse(t, 1)
	for version := int16(0); version <= 4; version++ {
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Group, beat.MemberID = "never", "nobody"
		if code := perr.Code(h.raw(1, beat, version).(*kmsg.HeartbeatResponse).ErrorCode); code != perr.UnknownMemberId {
			t.Errorf("Heartbeat v%d: %s", version, code)
		}
	}
	for version := int16(0); version <= 5; version++ {
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Group, sync.MemberID, sync.Generation = "never", "nobody", 1
		kind, protocol := "consumer", "range"
		sync.ProtocolType, sync.Protocol = &kind, &protocol
		if code := perr.Code(h.raw(1, sync, version).(*kmsg.SyncGroupResponse).ErrorCode); code != perr.UnknownMemberId {
			t.Errorf("SyncGroup v%d: %s", version, code)
		}
		sync.Protocol = nil
		want := perr.UnknownMemberId
		if version >= 5 { // from here on both are to be said
			want = perr.InconsistentGroupProtocol
		}
		if code := perr.Code(h.raw(1, sync, version).(*kmsg.SyncGroupResponse).ErrorCode); code != want {
			t.Errorf("SyncGroup v%d without a protocol: %s", version, code)
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Group, leave.MemberID = "never", "nobody"
		leave.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "nobody"}, {MemberID: "nobody else"}}
		resp := h.raw(1, leave, version).(*kmsg.LeaveGroupResponse)
		if version < 3 {
			if perr.Code(resp.ErrorCode) != perr.UnknownMemberId {
				t.Errorf("LeaveGroup v%d: %+v", version, resp)
			}
			continue
		}
		if resp.ErrorCode != 0 || len(resp.Members) != 2 {
			t.Fatalf("LeaveGroup v%d: %+v", version, resp)
		}
		for i, m := range resp.Members {
			if perr.Code(m.ErrorCode) != perr.UnknownMemberId || m.MemberID != leave.Members[i].MemberID {
				t.Errorf("LeaveGroup v%d: %+v", version, m)
			}
		}
	}
}

// TestAGroupNeverSeenIsDescribed: up to v5 it is Dead, from v6 it is not found (compat §1.1).
func TestAGroupNeverSeenIsDescribed(t *testing.T) {
	h := newHouse(t, 1)
	for version := int16(0); version <= 6; version++ {
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Groups = []string{"never"}
		g := h.raw(1, r, version).(*kmsg.DescribeGroupsResponse).Groups[0]
		want := perr.None
		if version >= 6 {
			want = perr.GroupIdNotFound
		}
		if perr.Code(g.ErrorCode) != want || g.State != "Dead" {
			t.Errorf("version %d: %s %q", version, perr.Code(g.ErrorCode), g.State)
		}
	}
}

// TestTooMuchMetadataOfAnOffset: compat-G15.
func TestTooMuchMetadataOfAnOffset(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	for size, want := range map[int]perr.Code{4096: perr.None, 4097: perr.OffsetMetadataTooLarge} {
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Group, r.Generation = "g", -1
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = "t"
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Metadata = ptr(string(make([]byte, size)))
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
		if code := perr.Code(h.raw(1, r, 8).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode); code != want {
			t.Errorf("%d bytes: %s", size, code)
		}
	}
}

// TestALongNameSpoilsNobodysAnswer: lists are given in versions that cannot carry it, and the id of a member, which has the
// name of its client in it, is told to others.
func TestALongNameSpoilsNobodysAnswer(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation = strings.Repeat("g", math.MaxInt16+1), -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = "t"
	rt.Partitions = append(rt.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
	r.Topics = append(r.Topics, rt)
	c := dial(t, h.addrs[0])
	sendRequest(t, c, 1, r, 8)
	if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		t.Fatalf("a long group id: %d bytes, %v", n, err)
	}
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = "g", 10_000, 10_000, "consumer"
	join.Protocols = append(join.Protocols, kmsg.JoinGroupRequestProtocol{Name: "range"})
	join.SetVersion(4)
	c = dial(t, h.addrs[0])
	if _, err := c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(strings.Repeat("c", math.MaxInt16))).AppendRequest(nil, join, 1)); err != nil {
		t.Fatal(err)
	}
	_, body := readResponse(t, c)
	if got := decodeStrictly(t, join, body).(*kmsg.JoinGroupResponse); perr.Code(got.ErrorCode) != perr.MemberIdRequired || len(got.MemberID) != math.MaxInt16 {
		t.Fatalf("%s, an id of %d bytes", perr.Code(got.ErrorCode), len(got.MemberID))
	}
	for version := int16(0); version <= 5; version++ {
		if list := h.raw(1, kmsg.NewPtrListGroupsRequest(), version).(*kmsg.ListGroupsResponse); list.ErrorCode != 0 || len(list.Groups) != 1 {
			t.Fatalf("version %d: %+v", version, list)
		}
	}
}
