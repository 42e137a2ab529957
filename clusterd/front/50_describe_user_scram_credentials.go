package front

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/clusterd/security"
	"lockstep/protocol/perr"
)

// DescribeUserScramCredentials v0: which credentials users have, and with how many iterations; nothing else of them ever
// leaves. No users asks for all who have any.

func (f *Front) describeUserScramCredentials(r *kmsg.DescribeUserSCRAMCredentialsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
	if !f.mayCluster(from, access.Describe) {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(perr.ClusterAuthorizationFailed.Message())
		slot.Reply(resp)
		return
	}
	slot.Turn(func() (kmsg.Response, bool) {
		img := f.image()
		if len(r.Users) == 0 {
			resp.Results = allWithCredentials(img)
			return resp, true
		}
		at := map[string]int{}
		for _, u := range r.Users {
			if i, again := at[u.Name]; again {
				twice := &resp.Results[i]
				twice.ErrorCode, twice.ErrorMessage, twice.CredentialInfos = int16(perr.DuplicateResource), text("the user is named twice"), nil
				continue
			}
			at[u.Name] = len(resp.Results)
			resp.Results = append(resp.Results, describedUser(img, u.Name))
		}
		return resp, true
	})
}

func describedUser(img *image.Image, user string) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	out.User = user
	for _, m := range access.Mechanisms() {
		if c, has := img.Credentials[access.UserMechanism{User: user, Mechanism: m}]; has {
			info := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
			info.Mechanism, info.Iterations = int8(m), c.Iterations
			out.CredentialInfos = append(out.CredentialInfos, info)
		}
	}
	if out.CredentialInfos == nil {
		out.ErrorCode, out.ErrorMessage = int16(perr.ResourceNotFound), text(fmt.Sprintf("user %.100q has no SCRAM credential", user))
	}
	return out
}

func allWithCredentials(img *image.Image) (list []kmsg.DescribeUserSCRAMCredentialsResponseResult) {
	seen := map[string]bool{}
	for of := range img.Credentials {
		if !seen[of.User] {
			seen[of.User] = true
			list = append(list, describedUser(img, of.User))
		}
	}
	slices.SortFunc(list, func(a, b kmsg.DescribeUserSCRAMCredentialsResponseResult) int { return cmp.Compare(a.User, b.User) })
	return list
}

// credential is what a user of this cluster authenticates with.
func (f *Front) credential(mechanism, user string) (c security.Credential, ok bool) {
	c.Salt, c.StoredKey, c.ServerKey, c.Iterations, ok = f.image().Credential(mechanism, user)
	return c, ok
}
