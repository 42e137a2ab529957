package access

// Rules are the bindings of a cluster, as one broker knows them. They are immutable: With and Without return others. The
// zero value is no ACL at all.
type Rules struct {
	exact    map[resource][]Binding // literal, Wildcard among them
	prefixed map[ResourceType][]Binding
	count    int
}

type resource struct {
	kind ResourceType
	name string
}

// Settings are what an operator gave the authorizer at start.
type Settings struct {
	// On is whether there is an authorizer; without one everybody may do everything.
	On    bool
	Super map[Principal]bool // super.users
	// OpenUnlessNamed is allow.everyone.if.no.acl.found: a resource that no ACL speaks of is open to all.
	OpenUnlessNamed bool
}

// Allowed judges one operation as Kafka's StandardAuthorizer does: super users may do everything; a denial that applies wins
// over whatever allows; and a resource that some ACL speaks of is closed to whom none allows.
func (r Rules) Allowed(s Settings, who Principal, host string, op Operation, t ResourceType, name string) bool {
	if !s.On || s.Super[who] {
		return true
	}
	allowed, spoken := false, false
	for _, list := range [...][]Binding{r.exact[resource{t, name}], r.wild(t, name), r.prefixed[t]} {
		for _, b := range list {
			if !b.Pattern.Matches(t, name) {
				continue
			}
			spoken = true
			if !b.about(who, host) || !b.covers(op) {
				continue
			}
			if b.Permission == Deny {
				return false
			}
			allowed = true
		}
	}
	return allowed || !spoken && s.OpenUnlessNamed
}

func (r Rules) wild(t ResourceType, name string) []Binding {
	if name == Wildcard {
		return nil
	}
	return r.exact[resource{t, Wildcard}]
}

// NewRules are the rules of a list of bindings; one that is there twice counts once.
func NewRules(list []Binding) Rules {
	r := Rules{exact: map[resource][]Binding{}, prefixed: map[ResourceType][]Binding{}}
	seen := make(map[Binding]bool, len(list))
	for _, b := range list {
		if seen[b] {
			continue
		}
		seen[b] = true
		r.count++
		if b.Pattern.Kind == Prefixed {
			r.prefixed[b.Pattern.Type] = append(r.prefixed[b.Pattern.Type], b)
			continue
		}
		at := resource{b.Pattern.Type, b.Pattern.Name}
		r.exact[at] = append(r.exact[at], b)
	}
	return r
}

// Len is how many bindings there are.
func (r Rules) Len() int { return r.count }
