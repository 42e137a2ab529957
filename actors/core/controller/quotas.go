package controller

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// The limits of a client quota, by Kafka's names.
const (
	ProducerByteRate  = "producer_byte_rate"
	ConsumerByteRate  = "consumer_byte_rate"
	RequestPercentage = "request_percentage"
)

const (
	maxQuotas    = 10_000 // entities
	maxQuotaName = 249    // bytes of a user or client id
)

// alterQuotas changes each entity by itself, as Kafka does: what is wrong with one leaves the others alone.
func (s *State) alterQuotas(c AlterQuotas) outcome {
	var out outcome
	answer := QuotasAnswered{Ref: c.Ref, Results: make([]QuotaResult, len(c.Entries))}
	var facts []image.Fact
	added := 0
	named := map[image.QuotaEntity]bool{}
	for i, e := range c.Entries {
		before, had := s.quotas[e.Entity]
		r := &answer.Results[i]
		r.Code, r.Text = judgeQuota(e)
		switch {
		case r.Code != perr.None:
			continue
		case named[e.Entity]:
			r.Code, r.Text = perr.InvalidRequest, "the entity is named twice in one request"
			continue
		}
		named[e.Entity] = true
		after := e.changed(before)
		switch {
		case !had && len(after.Limits) > 0 && len(s.quotas)+added >= maxQuotas:
			r.Code, r.Text = perr.PolicyViolation, fmt.Sprintf("%d entities have quotas already, which is the most: remove some", maxQuotas)
			continue
		case slices.Equal(before.Limits, after.Limits) || c.DryRun:
			continue
		case !had:
			added++
		}
		out.Events = append(out.Events, QuotaAltered{Quota: after})
		facts = append(facts, quotaFact(after))
	}
	if len(facts) > 0 {
		out = publish(out, facts...)
	}
	return reply(out, answer)
}

// judgeQuota says what is wrong with an alteration.
func judgeQuota(e QuotaAlteration) (perr.Code, string) {
	refuse := func(format string, args ...any) (perr.Code, string) {
		return perr.InvalidRequest, fmt.Sprintf(format, args...)
	}
	if e.Entity.User.Kind == image.QuotaAbsent && e.Entity.Client.Kind == image.QuotaAbsent {
		return refuse("the entity names neither a user nor a client-id")
	}
	for what, n := range map[string]image.QuotaName{"user": e.Entity.User, "client-id": e.Entity.Client} {
		if n.Kind == image.QuotaNamed && (n.Name == "" || len(n.Name) > maxQuotaName) {
			return refuse("%s of %d bytes; use 1 to %d, or null for the default", what, len(n.Name), maxQuotaName)
		}
	}
	for i, l := range e.Limits {
		whole := l.Key == ProducerByteRate || l.Key == ConsumerByteRate
		switch {
		case !whole && l.Key != RequestPercentage:
			return refuse("limit %q is not one of %s", l.Key, strings.Join([]string{ProducerByteRate, ConsumerByteRate, RequestPercentage}, ", "))
		case slices.ContainsFunc(e.Limits[:i], func(o QuotaLimit) bool { return o.Key == l.Key }):
			return refuse("%s is named twice", l.Key)
		case l.Remove:
		case !(l.Value > 0) || math.IsInf(l.Value, 0):
			return refuse("%s=%g; use a number above 0", l.Key, l.Value)
		case whole && (l.Value != math.Trunc(l.Value) || l.Value > 1<<62):
			return refuse("%s=%g; use whole bytes per second", l.Key, l.Value)
		}
	}
	return perr.None, ""
}

// changed is the quota after an alteration of before.
func (e QuotaAlteration) changed(before QuotaRecord) QuotaRecord {
	after := QuotaRecord{UserKind: int8(e.Entity.User.Kind), User: e.Entity.User.Name, ClientKind: int8(e.Entity.Client.Kind), Client: e.Entity.Client.Name}
	after.Limits = slices.Clone(before.Limits)
	for _, l := range e.Limits {
		after.Limits = slices.DeleteFunc(after.Limits, func(r QuotaLimitRecord) bool { return r.Key == l.Key })
		if !l.Remove {
			after.Limits = append(after.Limits, QuotaLimitRecord{Key: l.Key, Value: l.Value})
		}
	}
	if len(after.Limits) == 0 {
		after.Limits = nil
	}
	slices.SortFunc(after.Limits, func(a, b QuotaLimitRecord) int { return cmp.Compare(a.Key, b.Key) })
	return after
}

func (s *State) setQuota(q QuotaRecord) {
	if len(q.Limits) == 0 {
		delete(s.quotas, q.entity())
	} else {
		s.quotas[q.entity()] = q
	}
}

func (q QuotaRecord) entity() image.QuotaEntity {
	return image.QuotaEntity{
		User:   image.QuotaName{Kind: image.QuotaKind(q.UserKind), Name: q.User},
		Client: image.QuotaName{Kind: image.QuotaKind(q.ClientKind), Name: q.Client},
	}
}

func compareQuotas(a, b QuotaRecord) int {
	return cmp.Or(cmp.Compare(a.UserKind, b.UserKind), cmp.Compare(a.User, b.User), cmp.Compare(a.ClientKind, b.ClientKind), cmp.Compare(a.Client, b.Client))
}

func (s *State) quotasInOrder() []QuotaRecord {
	return slices.SortedFunc(maps.Values(s.quotas), compareQuotas)
}

func quotaFact(q QuotaRecord) image.Fact {
	f := image.QuotaChanged{Entity: q.entity()}
	for _, l := range q.Limits {
		if f.Limits == nil {
			f.Limits = map[string]float64{}
		}
		f.Limits[l.Key] = l.Value
	}
	return f
}
