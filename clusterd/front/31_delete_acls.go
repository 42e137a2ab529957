package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// DeleteAcls v1–3: refused, each filter by itself.

func (f *Front) deleteACLs(r *kmsg.DeleteACLsRequest, _ Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DeleteACLsResponse)
	for range r.Filters {
		refused := kmsg.NewDeleteACLsResponseResult()
		refused.ErrorCode, refused.ErrorMessage = int16(perr.SecurityDisabled), text(noAuthorizer)
		resp.Results = append(resp.Results, refused)
	}
	slot.Reply(resp)
}
