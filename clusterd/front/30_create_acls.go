package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// CreateAcls v1–3: refused, each by itself, because nobody would obey them.

func (f *Front) createACLs(r *kmsg.CreateACLsRequest, _ Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.CreateACLsResponse)
	for range r.Creations {
		refused := kmsg.NewCreateACLsResponseResult()
		refused.ErrorCode, refused.ErrorMessage = int16(perr.SecurityDisabled), text(noAuthorizer)
		resp.Results = append(resp.Results, refused)
	}
	slot.Reply(resp)
}
