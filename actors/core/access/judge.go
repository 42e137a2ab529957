package access

import (
	"net/netip"
	"sort"
)

// Allowed judges one operation as Kafka's StandardAuthorizer does: super users may do everything; a denial that applies wins
// over whatever allows; and a resource that some ACL speaks of is closed to whom none allows. It allocates nothing.
func (r Rules) Allowed(s Settings, who Principal, host string, op Operation, t ResourceType, name string) bool {
	if !s.On || s.Super[who] {
		return true
	}
	v := verdict{who: who, host: host, op: op}
	if r.count > 0 {
		v.hear(r.literal[resource{t, name}])
		if name != Wildcard {
			v.hear(r.literal[resource{t, Wildcard}])
		}
		beginnings := r.prefixed[t]
		for at := beginnings.longest(name); at >= 0 && !v.denied; at = beginnings.shorter(at) {
			v.hear(beginnings[at].rules)
		}
	}
	return !v.denied && (v.allowed || !v.spoken && s.OpenUnlessNamed)
}

// verdict is what the rules that were heard so far say.
type verdict struct {
	who  Principal
	host string
	op   Operation

	spoken, allowed, denied bool
}

func (v *verdict) hear(list []rule) {
	v.spoken = v.spoken || len(list) > 0
	v.take(list, v.who)
	v.take(list, Everybody)
}

func (v *verdict) take(list []rule, who Principal) {
	for i, list := 0, of(list, who); i < len(list) && !v.denied; i++ {
		b := &list[i]
		switch {
		case !b.from(v.host) || !b.covers(v.op):
		case b.Permission == Deny:
			v.denied = true
		default:
			v.allowed = true
		}
	}
}

// of are the rules for one principal, by which the rules of a pattern are sorted: there may be one for each user.
func of(list []rule, who Principal) []rule {
	from := sort.Search(len(list), func(i int) bool { return list[i].Principal >= who })
	to := from
	for to < len(list) && list[to].Principal == who {
		to++
	}
	return list[from:to]
}

// AllowedByType reports whether there is any resource of a type with which the asker may do op, existing or not, as Kafka's
// Authorizer.authorizeByResourceType does: an idempotent producer needs a topic that it may write, not a certain one.
func (r Rules) AllowedByType(s Settings, who Principal, host string, op Operation, t ResourceType) bool {
	if !s.On || s.Super[who] {
		return true
	}
	if r.Allowed(s, who, host, op, t, "hardcode") { // a name like any other, as in Kafka: where all is open, this is
		return true
	}
	says := func(list []rule, p Permission) bool {
		for _, who := range [...]Principal{who, Everybody} {
			for _, b := range of(list, who) {
				if b.Permission == p && (b.Operation == op || b.Operation == All) && b.from(host) {
					return true
				}
			}
		}
		return false
	}
	wild := r.literal[resource{t, Wildcard}]
	if says(wild, Deny) {
		return false
	}
	if says(wild, Allow) {
		return true
	}
	beginnings := r.prefixed[t]
	denied := func(name string) bool {
		for at := beginnings.longest(name); at >= 0; at = beginnings.shorter(at) {
			if says(beginnings[at].rules, Deny) {
				return true
			}
		}
		return false
	}
	for at, list := range r.literal { // Wildcard says nothing by now
		if at.kind == t && says(list, Allow) && !says(list, Deny) && !denied(at.name) {
			return true
		}
	}
	for _, p := range beginnings {
		if says(p.rules, Allow) && !denied(p.name) {
			return true
		}
	}
	return false
}

// from reports whether the entry speaks of who asks from there.
func (r *rule) from(host string) bool { return r.host == host || r.host == Wildcard }

// canonicalHost is an address as a connection shows its own: Kafka's tools write IPv6 without leaving out zeros.
func canonicalHost(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}
