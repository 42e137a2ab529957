package front

import (
	"fmt"
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// AlterClientQuotas v0–1: limits of users, client ids and both, a null name being the default of those without their
// own. Each entry stands for itself. v1 is flexible.

func (f *Front) alterClientQuotas(r *kmsg.AlterClientQuotasRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.AlterClientQuotasResponse)
	cmd := controller.AlterQuotas{DryRun: r.ValidateOnly}
	may := f.mayCluster(from, access.AlterConfigs)
	var at []int // of each entry that is asked for, its place in the answer
	for i, e := range r.Entries {
		out := kmsg.NewAlterClientQuotasResponseEntry()
		for _, part := range e.Entity {
			out.Entity = append(out.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
		}
		entity, why := quotaEntity(e.Entity)
		if !may {
			out.ErrorCode, out.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(denial(from, access.AlterConfigs, access.Cluster, access.ClusterName))
		} else if why != "" {
			out.ErrorCode, out.ErrorMessage = int16(perr.InvalidRequest), text(why)
		} else {
			a := controller.QuotaAlteration{Entity: entity}
			for _, op := range e.Ops {
				a.Limits = append(a.Limits, controller.QuotaLimit{Key: op.Key, Value: op.Value, Remove: op.Remove})
			}
			cmd.Entries, at = append(cmd.Entries, a), append(at, i)
		}
		resp.Entries = append(resp.Entries, out)
	}
	if !may {
		slot.Reply(resp)
		return
	}
	f.cluster.AlterQuotas(cmd, func(reply any) {
		switch e := reply.(type) {
		case controller.QuotasAnswered:
			for i, result := range e.Results {
				out := &resp.Entries[at[i]]
				out.ErrorCode, out.ErrorMessage = int16(result.Code), text(result.Text)
			}
			f.whenQuotas(cmd, e.Results, func() { slot.Reply(resp) })
			return
		case shell.Failed:
			for _, i := range at {
				resp.Entries[i].ErrorCode, resp.Entries[i].ErrorMessage = int16(perr.RequestTimedOut), text(e.Text)
			}
		default:
			panic("front: unknown answer to AlterQuotas")
		}
		slot.Reply(resp)
	})
}

// quotaEntity reads an entity; why says what is wrong with it.
func quotaEntity(parts []kmsg.AlterClientQuotasRequestEntryEntity) (e image.QuotaEntity, why string) {
	for _, p := range parts {
		var n *image.QuotaName
		switch p.Type {
		case quotaUser:
			n = &e.User
		case quotaClient:
			n = &e.Client
		default:
			return e, fmt.Sprintf("no quotas of %q here; use user, client-id or both", p.Type)
		}
		if n.Kind != image.QuotaAbsent {
			return e, fmt.Sprintf("the entity names %s twice", p.Type)
		}
		if n.Kind = image.QuotaDefault; p.Name != nil {
			*n = image.QuotaName{Kind: image.QuotaNamed, Name: *p.Name}
		}
	}
	return e, ""
}

// whenQuotas calls done when this broker's image has what was set, or after a second: whoever altered a quota describes
// it next.
func (f *Front) whenQuotas(cmd controller.AlterQuotas, results []controller.QuotaResult, done func()) {
	newest := f.cluster.Newest() // has it, since the answer left behind what was published
	f.whenSeen(func(img *image.Image) bool {
		for i, e := range cmd.Entries {
			if results[i].Code == perr.None && !maps.Equal(img.Quotas[e.Entity], newest.Quotas[e.Entity]) {
				return cmd.DryRun
			}
		}
		return true
	}, done)
}
