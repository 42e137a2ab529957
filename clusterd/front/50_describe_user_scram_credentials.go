package front

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// DescribeUserScramCredentials v0: without SASL no user has any, as in a Kafka where nobody was given one.
// kafka-configs.sh asks when it describes users, also those that only have quotas.

func (f *Front) describeUserScramCredentials(r *kmsg.DescribeUserSCRAMCredentialsRequest, _ Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
	at := map[string]int{}
	for _, u := range r.Users {
		if i, again := at[u.Name]; again {
			resp.Results[i].ErrorCode, resp.Results[i].ErrorMessage = int16(perr.DuplicateResource), text(fmt.Sprintf("user %s is named twice", u.Name))
			continue
		}
		at[u.Name] = len(resp.Results)
		out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
		out.User, out.ErrorCode = u.Name, int16(perr.ResourceNotFound)
		out.ErrorMessage = text(fmt.Sprintf("user %s has no SCRAM credential; this cluster authenticates nobody", u.Name))
		resp.Results = append(resp.Results, out)
	}
	slot.Reply(resp)
}
