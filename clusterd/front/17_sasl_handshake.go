package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// SaslHandshake v0–1. Where a listener asks, the connection's login answers; this is what a client is told that may not ask:
// as in Kafka it goes on as who it is.

func (f *Front) saslHandshake(r *kmsg.SASLHandshakeRequest, _ Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
	resp.ErrorCode = int16(perr.IllegalSaslState)
	slot.Reply(resp)
}
