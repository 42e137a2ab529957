package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

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
