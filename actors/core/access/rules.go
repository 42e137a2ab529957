package access

import (
	"maps"
	"slices"
)

// Rules are the bindings of a cluster, as one broker knows them. They are immutable: Changed returns others and shares what
// is the same. The zero value is no ACL at all.
type Rules struct {
	literal  map[resource][]rule // Wildcard among them
	prefixed map[ResourceType]prefixes
	count    int
}

type resource struct {
	kind ResourceType
	name string
}

// rule is a binding with its host as connections show theirs.
type rule struct {
	Binding
	host string
}

// Settings are what an operator gave the authorizer at start.
type Settings struct {
	// On is whether there is an authorizer; without one everybody may do everything.
	On    bool
	Super map[Principal]bool // super.users
	// OpenUnlessNamed is allow.everyone.if.no.acl.found: a resource that no ACL speaks of is open to all.
	OpenUnlessNamed bool
}

// NewRules are the rules of a list of bindings; one that is there twice counts once.
func NewRules(list []Binding) Rules { return Rules{}.Changed(list, nil) }

// With are the rules and these.
func (r Rules) With(list ...Binding) Rules { return r.Changed(list, nil) }

// Without are the rules except these.
func (r Rules) Without(list ...Binding) Rules { return r.Changed(nil, list) }

// Changed are the rules without those of removed and with those of added. What is there already, or not there, makes no
// difference. The cost is that of what changes and of one copy of the tables, whatever the number of changes.
func (r Rules) Changed(added, removed []Binding) Rules {
	c := changing{rules: Rules{literal: maps.Clone(r.literal), prefixed: maps.Clone(r.prefixed), count: r.count}, lists: map[Pattern][]rule{}}
	if c.rules.literal == nil {
		c.rules.literal, c.rules.prefixed = map[resource][]rule{}, map[ResourceType]prefixes{}
	}
	for _, b := range removed {
		c.remove(b)
	}
	for _, b := range slices.SortedFunc(slices.Values(added), Compare) { // each behind the one before, in a list that grows
		c.add(b)
	}
	c.settle()
	return c.rules
}

// changing is rules under construction; lists are copies of those that change, which become the rules' at the end.
type changing struct {
	rules Rules
	lists map[Pattern][]rule
}

func (c *changing) list(p Pattern) []rule {
	list, copied := c.lists[p]
	if !copied {
		list = slices.Clone(c.rules.of(p))
		c.lists[p] = list
	}
	return list
}

func (c *changing) add(b Binding) {
	list := c.list(b.Pattern)
	at, there := slices.BinarySearchFunc(list, b, compareRule)
	if !there {
		c.lists[b.Pattern] = slices.Insert(list, at, rule{Binding: b, host: canonicalHost(b.Host)})
		c.rules.count++
	}
}

func (c *changing) remove(b Binding) {
	list := c.list(b.Pattern)
	at, there := slices.BinarySearchFunc(list, b, compareRule)
	if there {
		c.lists[b.Pattern] = slices.Delete(list, at, at+1)
		c.rules.count--
	}
}

func (c *changing) settle() {
	changed := map[ResourceType]prefixes{}
	for p, list := range c.lists {
		switch {
		case p.Kind == Prefixed:
			changed[p.Type] = append(changed[p.Type], prefix{p.Name, list})
		case len(list) == 0:
			delete(c.rules.literal, resource{p.Type, p.Name})
		default:
			c.rules.literal[resource{p.Type, p.Name}] = list
		}
	}
	for t, these := range changed {
		c.rules.prefixed[t] = c.rules.prefixed[t].merge(these)
	}
}

func compareRule(r rule, b Binding) int { return Compare(r.Binding, b) }

// of are the bindings of one pattern.
func (r Rules) of(p Pattern) []rule {
	if p.Kind == Prefixed {
		return r.prefixed[p.Type].of(p.Name)
	}
	return r.literal[resource{p.Type, p.Name}]
}

// Len is how many bindings there are.
func (r Rules) Len() int { return r.count }

// Has reports whether this very binding is there.
func (r Rules) Has(b Binding) bool {
	_, there := slices.BinarySearchFunc(r.of(b.Pattern), b, compareRule)
	return there
}

// Each calls do with every binding until it returns false, in no order.
func (r Rules) Each(do func(Binding) bool) {
	for _, list := range r.literal {
		for _, b := range list {
			if !do(b.Binding) {
				return
			}
		}
	}
	for _, all := range r.prefixed {
		for _, p := range all {
			for _, b := range p.rules {
				if !do(b.Binding) {
					return
				}
			}
		}
	}
}

// Selected are the bindings that a filter selects, in the order of Compare. One that names a pattern is answered without
// looking at others.
func (r Rules) Selected(f Filter) []Binding {
	list, _ := r.SelectedUpTo(f, r.count)
	return list
}

// SelectedUpTo is Selected unless there are more than most of them.
func (r Rules) SelectedUpTo(f Filter, most int) (list []Binding, ok bool) {
	take := func(b Binding) bool {
		if f.Selects(b) {
			list = append(list, b)
		}
		return len(list) <= most
	}
	if p, one := f.pattern(); one {
		for _, b := range r.of(p) {
			if !take(b.Binding) {
				return nil, false
			}
		}
		return list, true
	}
	r.Each(take)
	if len(list) > most {
		return nil, false
	}
	slices.SortFunc(list, Compare)
	return list, true
}

// Equal reports whether both have the same bindings.
func (r Rules) Equal(o Rules) bool {
	if r.count != o.count {
		return false
	}
	same := true
	r.Each(func(b Binding) bool {
		same = o.Has(b)
		return same
	})
	return same
}
