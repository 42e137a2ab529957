package front

import (
	"testing"
	"time"

	"lockstep/actors/core/access"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// F47, A02: a consumer with the right to read reports what the mirror alone can know. Its fetch is denied, reads nothing above
// HW, and acknowledges nothing; the same report of who may act for the cluster does.
func TestAReaderMayNotReportForAMirror(t *testing.T) {
	h := guarded(t, nil)
	id := h.fill("t", 1, 10)
	m := &farMirror{h: h, data: [16]byte{1}}
	reg := m.register("t", id, 0)
	waitFor(t, "evidence of a gate", func() bool {
		p := m.fetch(1, id, reg.RegistrationEpoch, 1, 1, 0)
		return p.Evidence != nil && p.Evidence.Gating
	})
	reader, destination := access.UserNamed("reader"), access.UserNamed("destination")
	h.allow(right(reader, "READ TOPIC:t"), right(destination, "READ TOPIC:t"), right(destination, "CLUSTER_ACTION CLUSTER"))
	acked := h.waiting("gated")
	waitFor(t, "the record above HW", func() bool { return len(m.fetch(1, id, reg.RegistrationEpoch, 1, 1, 0).Records) > 0 })
	for _, at := range []int64{1, 2} {
		got := h.as(reader, m.request(id, reg.RegistrationEpoch, at, 2, 0), 20).(*messages.FetchResponse)
		if perr.Code(got.ErrorCode) != perr.ClusterAuthorizationFailed || len(got.Responses) > 0 {
			t.Errorf("the report of a reader at %d: %+v", at, got)
		}
	}
	if got := h.as(reader, fetchRequest(1<<20, ask{topic: id, offset: 1}), 20).(*messages.FetchResponse).Responses[0].Partitions[0]; len(got.Records) > 0 || got.HighWatermark != 1 {
		t.Errorf("a reader above HW: %+v", got)
	}
	select {
	case a := <-acked:
		t.Fatalf("acknowledged on a reader's word: %+v", a)
	case <-time.After(50 * time.Millisecond):
	}
	if got := h.as(destination, m.request(id, reg.RegistrationEpoch, 2, 2, 0), 20).(*messages.FetchResponse); got.ErrorCode != 0 {
		t.Errorf("the report of a destination: %s", perr.Code(got.ErrorCode))
	}
	if a := <-acked; a.ErrorCode != 0 || a.BaseOffset != 1 {
		t.Errorf("after the report of a destination: %+v", a)
	}
}
