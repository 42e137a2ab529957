package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// CreateAcls v1–3: each binding stands for itself, and one that is there already is there. Without an authorizer all are
// refused, because nobody would obey them. v2 is flexible.

func (f *Front) createACLs(r *kmsg.CreateACLsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.CreateACLsResponse)
	resp.Results = make([]kmsg.CreateACLsResponseResult, len(r.Creations))
	refuse := func(code perr.Code, why *string) {
		for i := range resp.Results {
			resp.Results[i].ErrorCode, resp.Results[i].ErrorMessage = int16(code), why
		}
		slot.Reply(resp)
	}
	if code, why := f.aclsRefused(from, access.Alter); code != perr.None {
		refuse(code, text(why))
		return
	}
	cmd := controller.CreateACLs{Bindings: make([]access.Binding, len(r.Creations))}
	for i, c := range r.Creations {
		cmd.Bindings[i] = access.Binding{Pattern: access.Pattern{Type: access.ResourceType(c.ResourceType), Name: c.ResourceName, Kind: access.PatternType(c.ResourcePatternType)},
			Principal: access.Principal(c.Principal), Host: c.Host, Operation: access.Operation(c.Operation), Permission: access.Permission(c.PermissionType)}
	}
	f.cluster.CreateACLs(cmd, func(reply any) {
		switch e := reply.(type) {
		case controller.ACLsCreated:
			for i, result := range e.Results {
				resp.Results[i].ErrorCode, resp.Results[i].ErrorMessage = int16(result.Code), text(result.Text)
			}
			f.whenACLs(cmd.Bindings, func() { slot.Reply(resp) })
		case shell.Failed:
			refuse(perr.RequestTimedOut, text(e.Text))
		default:
			panic("front: unknown answer to CreateACLs")
		}
	})
}

// whenACLs calls done when this broker's image has those of these bindings that are there, and no others of them, or after a
// second: who changed them describes them next, and counts on what they allow.
func (f *Front) whenACLs(list []access.Binding, done func()) {
	newest := f.cluster.Newest().ACLs // has them, since the answer left behind what was published
	f.whenSeen(func(img *image.Image) bool {
		for _, b := range list {
			if img.ACLs.Has(b) != newest.Has(b) {
				return false
			}
		}
		return true
	}, done)
}
