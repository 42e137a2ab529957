package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// AlterUserScramCredentials v0: credentials of users are removed and set. Each user stands for itself and is named
// once. The salted password is made into keys here and goes no further.

func (f *Front) alterUserScramCredentials(r *kmsg.AlterUserSCRAMCredentialsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
	cmd := controller.AlterCredentials{}
	for _, d := range r.Deletions {
		cmd.Changes = append(cmd.Changes, controller.CredentialChange{Of: access.UserMechanism{User: d.Name, Mechanism: access.Mechanism(d.Mechanism)}, Remove: true})
	}
	for _, u := range r.Upsertions {
		cmd.Changes = append(cmd.Changes, controller.CredentialChange{Of: access.UserMechanism{User: u.Name, Mechanism: access.Mechanism(u.Mechanism)}})
	}
	refuse := func(code perr.Code, why string) {
		named := map[string]bool{}
		for _, c := range cmd.Changes {
			if !named[c.Of.User] {
				named[c.Of.User] = true
				resp.Results = append(resp.Results, alteredUser(controller.CredentialResult{User: c.Of.User, Code: code, Text: why}))
			}
		}
		slot.Reply(resp)
	}
	if !f.mayCluster(from, access.Alter) {
		refuse(perr.ClusterAuthorizationFailed, perr.ClusterAuthorizationFailed.Message())
		return
	}
	for i, u := range r.Upsertions {
		if c := &cmd.Changes[len(r.Deletions)+i]; c.Of.Mechanism.Known() {
			c.Credential = c.Of.Mechanism.Salted(u.SaltedPassword, u.Salt, u.Iterations)
		}
	}
	f.cluster.AlterCredentials(cmd, func(reply any) {
		switch e := reply.(type) {
		case controller.CredentialsAnswered:
			for _, result := range e.Results {
				resp.Results = append(resp.Results, alteredUser(result))
			}
			f.whenCredentials(cmd.Changes, func() { slot.Reply(resp) })
		case shell.Failed:
			refuse(perr.RequestTimedOut, e.Text)
		default:
			panic("front: unknown answer to AlterCredentials")
		}
	})
}

func alteredUser(result controller.CredentialResult) kmsg.AlterUserSCRAMCredentialsResponseResult {
	out := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
	out.User, out.ErrorCode, out.ErrorMessage = result.User, int16(result.Code), text(result.Text)
	return out
}

// whenCredentials calls done when this broker's image has these credentials as they are, or after a second: who set one logs
// in with it next.
func (f *Front) whenCredentials(changes []controller.CredentialChange, done func()) {
	newest := f.cluster.Newest() // has them, since the answer left behind what was published
	f.whenSeen(func(img *image.Image) bool {
		for _, c := range changes {
			if !img.Credentials[c.Of].Equal(newest.Credentials[c.Of]) {
				return false
			}
		}
		return true
	}, done)
}
