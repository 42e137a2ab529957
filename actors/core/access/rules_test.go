package access

import "testing"

func topicACL(name string, kind PatternType, who Principal, host string, op Operation, p Permission) Binding {
	return Binding{Pattern: Pattern{Type: Topic, Name: name, Kind: kind}, Principal: who, Host: host, Operation: op, Permission: p}
}

// The cases are those of Kafka's StandardAuthorizer.
func TestWhoMayDoWhat(t *testing.T) {
	const alice, bob = Principal("User:alice"), Principal("User:bob")
	on := Settings{On: true}
	for _, c := range []struct {
		name string
		acls []Binding
		set  Settings
		who  Principal
		host string
		op   Operation
		want bool
	}{
		{"no authorizer", nil, Settings{}, alice, "h", Write, true},
		{"nothing is said", nil, on, alice, "h", Write, false},
		{"nothing is said and that is enough", nil, Settings{On: true, OpenUnlessNamed: true}, alice, "h", Write, true},
		{"something is said of others", []Binding{topicACL("t", Literal, bob, Wildcard, Read, Allow)}, Settings{On: true, OpenUnlessNamed: true}, alice, "h", Write, false},
		{"something is said of another topic", []Binding{topicACL("u", Literal, bob, Wildcard, Read, Allow)}, Settings{On: true, OpenUnlessNamed: true}, alice, "h", Write, true},
		{"allowed", []Binding{topicACL("t", Literal, alice, Wildcard, Write, Allow)}, on, alice, "h", Write, true},
		{"allowed to another", []Binding{topicACL("t", Literal, bob, Wildcard, Write, Allow)}, on, alice, "h", Write, false},
		{"allowed from another host", []Binding{topicACL("t", Literal, alice, "g", Write, Allow)}, on, alice, "h", Write, false},
		{"allowed from this host", []Binding{topicACL("t", Literal, alice, "h", Write, Allow)}, on, alice, "h", Write, true},
		{"allowed to everybody", []Binding{topicACL("t", Literal, Everybody, Wildcard, Write, Allow)}, on, alice, "h", Write, true},
		{"all topics", []Binding{topicACL(Wildcard, Literal, alice, Wildcard, Write, Allow)}, on, alice, "h", Write, true},
		{"a prefix", []Binding{topicACL("", Prefixed, alice, Wildcard, Write, Allow)}, on, alice, "h", Write, true},
		{"another prefix", []Binding{topicACL("u", Prefixed, alice, Wildcard, Write, Allow)}, on, alice, "h", Write, false},
		{"a prefixed star is no wildcard", []Binding{topicACL(Wildcard, Prefixed, alice, Wildcard, Write, Allow)}, on, alice, "h", Write, false},
		{"all operations", []Binding{topicACL("t", Literal, alice, Wildcard, All, Allow)}, on, alice, "h", AlterConfigs, true},
		{"to write is to describe", []Binding{topicACL("t", Literal, alice, Wildcard, Write, Allow)}, on, alice, "h", Describe, true},
		{"to create is not", []Binding{topicACL("t", Literal, alice, Wildcard, Create, Allow)}, on, alice, "h", Describe, false},
		{"to alter configs is to describe them", []Binding{topicACL("t", Literal, alice, Wildcard, AlterConfigs, Allow)}, on, alice, "h", DescribeConfigs, true},
		{"a denial wins", []Binding{topicACL("t", Literal, alice, Wildcard, All, Allow), topicACL("", Prefixed, Everybody, Wildcard, Write, Deny)}, on, alice, "h", Write, false},
		{"a denial of all", []Binding{topicACL("t", Literal, alice, Wildcard, Write, Allow), topicACL(Wildcard, Literal, alice, Wildcard, All, Deny)}, on, alice, "h", Write, false},
		{"a denial to write leaves describing", []Binding{topicACL("t", Literal, alice, Wildcard, Read, Allow), topicACL("t", Literal, alice, Wildcard, Write, Deny)}, on, alice, "h", Describe, true},
		{"a super user", []Binding{topicACL("t", Literal, alice, Wildcard, All, Deny)}, Settings{On: true, Super: map[Principal]bool{alice: true}}, alice, "h", Write, true},
	} {
		if got := NewRules(c.acls).Allowed(c.set, c.who, c.host, c.op, Topic, "t"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
