package access

import "net/netip"

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
	for i := range list {
		b := &list[i]
		v.spoken = true
		if !b.about(v.who, v.host) || !b.covers(v.op) {
			continue
		}
		if b.Permission == Deny {
			v.denied = true
			return
		}
		v.allowed = true
	}
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
		for i := range list {
			if b := &list[i]; b.Permission == p && (b.Operation == op || b.Operation == All) && b.about(who, host) {
				return true
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
	for at, list := range r.literal {
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

// about reports whether the entry speaks of this asker.
func (r *rule) about(who Principal, host string) bool {
	return (r.Principal == who || r.Principal == Everybody) && (r.host == host || r.host == Wildcard)
}

// canonicalHost is an address as a connection shows its own: Kafka's tools write IPv6 without leaving out zeros.
func canonicalHost(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}
