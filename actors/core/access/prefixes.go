package access

import (
	"cmp"
	"slices"
	"strings"
)

// prefixes are the prefixed patterns of a resource type, by name. Those that a name begins with are found from the longest to
// the shortest, each by a binary search: whatever lies between a beginning of the name and the name itself begins alike.
type prefixes []prefix

type prefix struct {
	name  string
	rules []rule
}

func comparePrefix(p prefix, name string) int { return cmp.Compare(p.name, name) }

func (p prefixes) of(name string) []rule {
	at, there := slices.BinarySearchFunc(p, name, comparePrefix)
	if !there {
		return nil
	}
	return p[at].rules
}

// longest finds the longest prefix of name, -1 if there is none.
func (p prefixes) longest(name string) int {
	for {
		at, there := slices.BinarySearchFunc(p, name, comparePrefix)
		switch {
		case there:
			return at
		case at == 0:
			return -1
		case strings.HasPrefix(name, p[at-1].name):
			return at - 1
		}
		name = name[:common(name, p[at-1].name)] // what begins name and is smaller than the one found begins both
	}
}

// shorter finds the longest proper prefix of the one at at, -1 if there is none.
func (p prefixes) shorter(at int) int {
	name := p[at].name
	if name == "" {
		return -1
	}
	return p[:at].longest(name[:len(name)-1])
}

func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// merge are the prefixes after some have changed; one without rules goes.
func (p prefixes) merge(changed prefixes) prefixes {
	slices.SortFunc(changed, func(a, b prefix) int { return cmp.Compare(a.name, b.name) })
	all := make(prefixes, 0, len(p)+len(changed))
	for len(p) > 0 || len(changed) > 0 {
		var next prefix
		switch {
		case len(changed) == 0 || len(p) > 0 && p[0].name < changed[0].name:
			next, p = p[0], p[1:]
		default:
			if len(p) > 0 && p[0].name == changed[0].name {
				p = p[1:]
			}
			next, changed = changed[0], changed[1:]
		}
		if len(next.rules) > 0 {
			all = append(all, next)
		}
	}
	return all
}
