package front

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// DescribeClientQuotas v0–1: the quotas of users and client ids that match every component of a filter; with strict only
// those that name nothing else. v1 is flexible.

// The parts of an entity, by Kafka's names.
const (
	quotaUser   = "user"
	quotaClient = "client-id"
)

func (f *Front) describeClientQuotas(r *kmsg.DescribeClientQuotasRequest, from Client, slot *Slot) {
	if !f.mayCluster(from, access.DescribeConfigs) {
		resp := r.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(denial(from, access.DescribeConfigs, access.Cluster, access.ClusterName))
		slot.Reply(resp)
		return
	}
	slot.Turn(func() (kmsg.Response, bool) { return f.describeQuotas(r), true })
}

func (f *Front) describeQuotas(r *kmsg.DescribeClientQuotasRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
	wanted := map[string]kmsg.DescribeClientQuotasRequestComponent{}
	for _, c := range r.Components {
		_, twice := wanted[c.EntityType]
		code, why := judgeQuotaFilter(c)
		if twice && code == perr.None {
			code, why = perr.InvalidRequest, fmt.Sprintf("the filter names %s twice", c.EntityType)
		}
		if code != perr.None {
			resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
			return resp
		}
		wanted[c.EntityType] = c
	}
	img := f.broker.Image()
	for _, e := range slices.SortedFunc(maps.Keys(img.Quotas), compareEntities) {
		if !quotaMatches(wanted, r.Strict, quotaUser, e.User) || !quotaMatches(wanted, r.Strict, quotaClient, e.Client) {
			continue
		}
		entry := kmsg.NewDescribeClientQuotasResponseEntry()
		for kind, n := range map[string]image.QuotaName{quotaUser: e.User, quotaClient: e.Client} {
			if n.Kind != image.QuotaAbsent {
				entry.Entity = append(entry.Entity, kmsg.DescribeClientQuotasResponseEntryEntity{Type: kind, Name: nameOf(n)})
			}
		}
		slices.SortFunc(entry.Entity, func(a, b kmsg.DescribeClientQuotasResponseEntryEntity) int { return cmp.Compare(b.Type, a.Type) })
		limits := img.Quotas[e]
		for _, key := range slices.Sorted(maps.Keys(limits)) {
			entry.Values = append(entry.Values, kmsg.DescribeClientQuotasResponseEntryValue{Key: key, Value: limits[key]})
		}
		resp.Entries = append(resp.Entries, entry)
	}
	if resp.Entries == nil {
		resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{} // null is for errors
	}
	return resp
}

func judgeQuotaFilter(c kmsg.DescribeClientQuotasRequestComponent) (perr.Code, string) {
	switch {
	case c.EntityType == "ip":
		return perr.None, "" // there are none, and kafka-configs.sh asks for them all the same
	case c.EntityType != quotaUser && c.EntityType != quotaClient:
		return perr.UnsupportedVersion, fmt.Sprintf("no quotas of %q here; use user or client-id", c.EntityType)
	case c.MatchType < kmsg.QuotasMatchTypeExact || c.MatchType > kmsg.QuotasMatchTypeAny:
		return perr.InvalidRequest, fmt.Sprintf("match type %d of %s; 0 is a name, 1 the default, 2 any", c.MatchType, c.EntityType)
	case (c.MatchType == kmsg.QuotasMatchTypeExact) != (c.Match != nil):
		return perr.InvalidRequest, fmt.Sprintf("a name of %s goes with match type 0 and with no other", c.EntityType)
	default:
		return perr.None, ""
	}
}

// quotaMatches says whether one part of an entity is as the filter wants it.
func quotaMatches(wanted map[string]kmsg.DescribeClientQuotasRequestComponent, strict bool, kind string, n image.QuotaName) bool {
	if _, ip := wanted["ip"]; ip {
		return false
	}
	c, asked := wanted[kind]
	switch {
	case !asked:
		return !strict || n.Kind == image.QuotaAbsent
	case c.MatchType == kmsg.QuotasMatchTypeExact:
		return n.Kind == image.QuotaNamed && n.Name == *c.Match
	case c.MatchType == kmsg.QuotasMatchTypeDefault:
		return n.Kind == image.QuotaDefault
	default:
		return n.Kind != image.QuotaAbsent
	}
}

func compareEntities(a, b image.QuotaEntity) int {
	return cmp.Or(compareNames(a.User, b.User), compareNames(a.Client, b.Client))
}

func compareNames(a, b image.QuotaName) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// nameOf is null for the default.
func nameOf(n image.QuotaName) *string {
	if n.Kind == image.QuotaDefault {
		return nil
	}
	return &n.Name
}
