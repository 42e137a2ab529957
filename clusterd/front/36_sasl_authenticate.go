package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// SaslAuthenticate v0–2. v1 tells how long the session is, v2 is flexible. Where a listener asks, the connection's login
// answers.

func (f *Front) saslAuthenticate(r *kmsg.SASLAuthenticateRequest, _ Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	resp.ErrorCode, resp.ErrorMessage = int16(perr.IllegalSaslState), text("this listener does not ask who its clients are")
	slot.Reply(resp)
}
