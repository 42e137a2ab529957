package access

import (
	"cmp"
	"strings"
)

// Pattern names resources: one, all of a type, or those that begin alike.
type Pattern struct {
	Type ResourceType
	Name string
	Kind PatternType // Literal or Prefixed
}

// Matches reports whether the pattern is about the resource called name.
func (p Pattern) Matches(t ResourceType, name string) bool {
	switch {
	case p.Type != t:
		return false
	case p.Kind == Prefixed:
		return strings.HasPrefix(name, p.Name)
	default:
		return p.Name == name || p.Name == Wildcard
	}
}

// Binding is one ACL.
type Binding struct {
	Pattern    Pattern
	Principal  Principal
	Host       string // an IP address, or Wildcard
	Operation  Operation
	Permission Permission
}

// covers reports whether the entry decides about op. An entry that allows to read, write, delete or alter allows to
// describe, too, and one that allows to alter configs allows to describe them; one that denies denies what it names.
func (b Binding) covers(op Operation) bool {
	if b.Operation == op || b.Operation == All {
		return true
	}
	if b.Permission != Allow {
		return false
	}
	switch op {
	case Describe:
		return b.Operation == Read || b.Operation == Write || b.Operation == Delete || b.Operation == Alter
	case DescribeConfigs:
		return b.Operation == AlterConfigs
	default:
		return false
	}
}

// Compare orders bindings, for lists that must not depend on the order of a map.
func Compare(a, b Binding) int {
	return cmp.Or(cmp.Compare(a.Pattern.Type, b.Pattern.Type), cmp.Compare(a.Pattern.Kind, b.Pattern.Kind), cmp.Compare(a.Pattern.Name, b.Pattern.Name),
		cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Permission, b.Permission))
}

// Filter selects bindings: a nil Name, Principal or Host, and the Any of each kind, leave it open.
type Filter struct {
	Type       ResourceType
	Name       *string
	Kind       PatternType
	Principal  *Principal
	Host       *string
	Operation  Operation
	Permission Permission
}

// Everything is the filter that selects every binding.
func Everything() Filter {
	return Filter{Type: AnyType, Kind: AnyPattern, Operation: AnyOperation, Permission: AnyPermission}
}

// Selects reports whether the filter selects b (Kafka's AclBindingFilter and ResourcePatternFilter).
func (f Filter) Selects(b Binding) bool {
	return (f.Type == AnyType || f.Type == b.Pattern.Type) && f.selectsName(b.Pattern) &&
		(f.Principal == nil || *f.Principal == b.Principal) && (f.Host == nil || *f.Host == b.Host) &&
		(f.Operation == AnyOperation || f.Operation == b.Operation) &&
		(f.Permission == AnyPermission || f.Permission == b.Permission)
}

// pattern is the one that the filter names, if it does.
func (f Filter) pattern() (p Pattern, one bool) {
	if f.Name == nil || f.Type == AnyType || f.Kind != Literal && f.Kind != Prefixed {
		return Pattern{}, false
	}
	return Pattern{Type: f.Type, Name: *f.Name, Kind: f.Kind}, true
}

// Wide reports whether every binding must be looked at to answer the filter.
func (f Filter) Wide() bool {
	_, one := f.pattern()
	return !one
}

func (f Filter) selectsName(p Pattern) bool {
	if f.Kind != AnyPattern && f.Kind != MatchPattern && f.Kind != p.Kind {
		return false
	}
	if f.Name == nil || *f.Name == p.Name {
		return true
	}
	return f.Kind == MatchPattern && p.Matches(p.Type, *f.Name)
}
