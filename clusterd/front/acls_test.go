package front

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/protocol/perr"
)

// TestWithoutAnAuthorizerToolsAreToldSo, in every version, each creation and each filter by itself.
func TestWithoutAnAuthorizerToolsAreToldSo(t *testing.T) {
	h := newHouse(t, 1)
	for version := int16(1); version <= 3; version++ {
		if d := h.raw(1, kmsg.NewPtrDescribeACLsRequest(), version).(*kmsg.DescribeACLsResponse); perr.Code(d.ErrorCode) != perr.SecurityDisabled || d.ErrorMessage == nil {
			t.Errorf("describe v%d: %+v", version, d)
		}
		create := kmsg.NewPtrCreateACLsRequest()
		create.Creations = make([]kmsg.CreateACLsRequestCreation, 2)
		c := h.raw(1, create, version).(*kmsg.CreateACLsResponse)
		if len(c.Results) != 2 || perr.Code(c.Results[1].ErrorCode) != perr.SecurityDisabled {
			t.Errorf("create v%d: %+v", version, c)
		}
		remove := kmsg.NewPtrDeleteACLsRequest()
		remove.Filters = make([]kmsg.DeleteACLsRequestFilter, 2)
		d := h.raw(1, remove, version).(*kmsg.DeleteACLsResponse)
		if len(d.Results) != 2 || perr.Code(d.Results[1].ErrorCode) != perr.SecurityDisabled {
			t.Errorf("delete v%d: %+v", version, d)
		}
	}
}

func topicACL(name string, who access.Principal, op access.Operation) kmsg.CreateACLsRequestCreation {
	return kmsg.CreateACLsRequestCreation{ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: name, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
		Principal: string(who), Host: "*", Operation: kmsg.ACLOperation(op), PermissionType: kmsg.ACLPermissionTypeAllow}
}

// createACLs asks a broker for ACLs and returns a code for each.
func (h *house) createACLs(broker int, list ...kmsg.CreateACLsRequestCreation) (codes []perr.Code) {
	h.t.Helper()
	r := kmsg.NewPtrCreateACLsRequest()
	r.Creations = list
	for i, result := range h.raw(broker, r, int16(1+len(list)%3)).(*kmsg.CreateACLsResponse).Results {
		if (result.ErrorCode == 0) != (result.ErrorMessage == nil) {
			h.t.Errorf("%d: %+v", i, result)
		}
		codes = append(codes, perr.Code(result.ErrorCode))
	}
	return codes
}

func everyACL() kmsg.DeleteACLsRequestFilter {
	return kmsg.DeleteACLsRequestFilter{ResourceType: kmsg.ACLResourceTypeAny, ResourcePatternType: kmsg.ACLResourcePatternTypeAny, Operation: kmsg.ACLOperationAny, PermissionType: kmsg.ACLPermissionTypeAny}
}

// acls lists what a filter selects, as "pattern type/resource type/name/principal/host/operation/permission".
func (h *house) acls(broker int, f kmsg.DeleteACLsRequestFilter) (list []string, code perr.Code) {
	h.t.Helper()
	r := kmsg.NewPtrDescribeACLsRequest()
	r.ResourceType, r.ResourceName, r.ResourcePatternType, r.Principal, r.Host, r.Operation, r.PermissionType = f.ResourceType, f.ResourceName, f.ResourcePatternType, f.Principal, f.Host, f.Operation, f.PermissionType
	resp := h.raw(broker, r, 3).(*kmsg.DescribeACLsResponse)
	for _, at := range resp.Resources {
		for _, acl := range at.ACLs {
			list = append(list, fmt.Sprintf("%d/%d/%s/%s/%s/%d/%d", at.ResourcePatternType, at.ResourceType, at.ResourceName, acl.Principal, acl.Host, acl.Operation, acl.PermissionType))
		}
	}
	return list, perr.Code(resp.ErrorCode)
}

// TestACLsCountAtOnce, on the broker that was asked for them, and stay.
func TestACLsCountAtOnce(t *testing.T) {
	h := guarded(t, nil)
	h.create("orders", 1, 1, nil)
	const alice = access.Principal("User:alice")
	sees := func() bool {
		r := kmsg.NewPtrMetadataRequest()
		r.Topics = []kmsg.MetadataRequestTopic{{Topic: text("orders")}}
		return h.as(alice, r, 9).(*kmsg.MetadataResponse).Topics[0].ErrorCode == 0
	}
	for range 20 {
		if sees() {
			t.Fatal("who may nothing sees a topic")
		}
		if codes := h.createACLs(1, topicACL("orders", alice, access.Describe)); codes[0] != perr.None {
			t.Fatal(codes)
		}
		if !sees() {
			t.Fatal("what is allowed is refused")
		}
		r := kmsg.NewPtrDeleteACLsRequest()
		r.Filters = []kmsg.DeleteACLsRequestFilter{everyACL()}
		if got := h.raw(1, r, 3).(*kmsg.DeleteACLsResponse).Results; len(got) != 1 || got[0].ErrorCode != 0 || len(got[0].MatchingACLs) != 1 || got[0].MatchingACLs[0].ResourceName != "orders" {
			t.Fatalf("%+v", got)
		}
	}
	h.createACLs(1, topicACL("orders", alice, access.Read))
	h.restart()
	if !sees() {
		t.Error("an ACL is gone with the process")
	}
}

// TestStockToolsKeepACLs: what kadm writes it finds again, and removes.
func TestStockToolsKeepACLs(t *testing.T) {
	h := guarded(t, nil)
	adm := kadm.NewClient(h.client())
	b := kadm.NewACLs().Allow("User:alice", "User:CN=b,O=c").AllowHosts("10.0.0.1").Deny("User:mallory").DenyHosts("*").
		Topics("orders").Groups("billing").TransactionalIDs("tx").Clusters().Operations(kadm.OpRead, kadm.OpDescribe).ResourcePatternType(kadm.ACLPatternPrefixed)
	made, err := adm.CreateACLs(patient(t), b)
	if err != nil || len(made) != 24 {
		t.Fatalf("%d, %v", len(made), err)
	}
	for _, m := range made {
		if m.Err != nil {
			t.Errorf("%+v", m)
		}
	}
	found, err := adm.DescribeACLs(patient(t), b)
	n := 0
	for _, f := range found {
		if n += len(f.Described); f.Err != nil || len(f.Described) != 1 {
			t.Errorf("%+v", f)
		}
	}
	if err != nil || n != 24 {
		t.Errorf("%d, %v", n, err)
	}
	gone, err := adm.DeleteACLs(patient(t), b)
	n = 0
	for _, f := range gone {
		n += len(f.Deleted)
	}
	if left, code := h.acls(1, everyACL()); err != nil || n != 24 || len(left) != 0 || code != perr.None {
		t.Errorf("%d removed (%v), and left: %v", n, err, left)
	}
}

func TestFiltersOfACLsAreAnswered(t *testing.T) {
	h := guarded(t, nil)
	prefix, wild, group := topicACL("or", "User:a", access.Write), topicACL("*", "User:a", access.Read), topicACL("orders", "User:grüße, 群组:1", access.Read)
	prefix.ResourcePatternType, group.ResourceType = kmsg.ACLResourcePatternTypePrefixed, kmsg.ACLResourceTypeGroup
	wrong, nobody := topicACL("orders", "User:a", 99), topicACL("orders", "a", access.Read)
	codes := h.createACLs(1, topicACL("orders", "User:a", access.Read), wrong, prefix, wild, nobody, group, group)
	if !slices.Equal(codes, []perr.Code{0, perr.InvalidRequest, 0, 0, perr.InvalidRequest, 0, 0}) {
		t.Fatalf("%v", codes)
	}
	with := func(change func(*kmsg.DeleteACLsRequestFilter)) kmsg.DeleteACLsRequestFilter {
		f := everyACL()
		change(&f)
		return f
	}
	for _, c := range []struct {
		name string
		f    kmsg.DeleteACLsRequestFilter
		want int
		code perr.Code
	}{
		{"all", everyACL(), 4, 0},
		{"what counts for a topic", with(func(f *kmsg.DeleteACLsRequestFilter) {
			f.ResourceType, f.ResourceName, f.ResourcePatternType = kmsg.ACLResourceTypeTopic, text("orders"), kmsg.ACLResourcePatternTypeMatch
		}), 3, 0},
		{"a principal", with(func(f *kmsg.DeleteACLsRequestFilter) { f.Principal = text("User:grüße, 群组:1") }), 1, 0},
		{"a host", with(func(f *kmsg.DeleteACLsRequestFilter) { f.Host = text("10.0.0.1") }), 0, 0},
		{"no type", with(func(f *kmsg.DeleteACLsRequestFilter) { f.ResourceType = 0 }), 0, perr.InvalidRequest},
		{"an unknown permission", with(func(f *kmsg.DeleteACLsRequestFilter) { f.PermissionType = 9 }), 0, perr.InvalidRequest},
	} {
		if got, code := h.acls(1, c.f); len(got) != c.want || code != c.code {
			t.Errorf("%s: %s %v", c.name, code, got)
		}
	}
}

// TestManyACLsAreRefusedAtOnce, and so are the filters of as many, without being looked at one by one.
func TestManyACLsAreRefusedAtOnce(t *testing.T) {
	h := guarded(t, nil)
	create, remove := kmsg.NewPtrCreateACLsRequest(), kmsg.NewPtrDeleteACLsRequest()
	create.Creations = slices.Repeat([]kmsg.CreateACLsRequestCreation{topicACL("", "", 0)}, 100_000)
	remove.Filters = slices.Repeat([]kmsg.DeleteACLsRequestFilter{everyACL()}, 100_000)
	began := worked(t)
	made, gone := h.raw(1, create, 3).(*kmsg.CreateACLsResponse).Results, h.raw(1, remove, 3).(*kmsg.DeleteACLsResponse).Results
	if took := worked(t) - began; took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := len(made); n != 100_000 || perr.Code(made[0].ErrorCode) != perr.InvalidRequest || perr.Code(made[n-1].ErrorCode) != perr.PolicyViolation {
		t.Errorf("%d, %+v", n, made[:min(n, 1)])
	}
	if n := len(gone); n != 100_000 || gone[0].ErrorCode != 0 || perr.Code(gone[n-1].ErrorCode) != perr.PolicyViolation {
		t.Errorf("%d, %+v", n, gone[:min(n, 1)])
	}
}

func TestNoReassignmentIsUnderWay(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	ask := kmsg.NewPtrListPartitionReassignmentsRequest()
	for _, topics := range [][]kmsg.ListPartitionReassignmentsRequestTopic{nil, {{Topic: "t", Partitions: []int32{0}}, {Topic: "nobody", Partitions: []int32{0}}}} {
		ask.Topics = topics
		if resp := h.raw(1, ask, 0).(*kmsg.ListPartitionReassignmentsResponse); resp.ErrorCode != 0 || len(resp.Topics) != 0 {
			t.Errorf("%+v", resp)
		}
	}
}
