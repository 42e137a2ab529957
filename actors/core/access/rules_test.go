package access

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

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

func TestAnAddressIsOneHoweverItIsWritten(t *testing.T) {
	for _, host := range []string{"::1", "0:0:0:0:0:0:0:1", "0000:0000::0001"} {
		r := NewRules([]Binding{topicACL("t", Literal, Everybody, host, Read, Allow)})
		if !r.Allowed(Settings{On: true}, Anonymous, "::1", Read, Topic, "t") {
			t.Errorf("%s is not ::1", host)
		}
	}
}

func TestFiltersSelect(t *testing.T) {
	orders, none := "orders-eu", ""
	bob := Principal("User:bob")
	rules := NewRules([]Binding{
		topicACL("orders-eu", Literal, "User:a", Wildcard, Read, Allow),
		topicACL("orders-", Prefixed, "User:a", Wildcard, Read, Allow),
		topicACL("orders-eu", Prefixed, "User:a", Wildcard, Read, Allow),
		topicACL(Wildcard, Literal, bob, "10.0.0.1", Write, Deny),
		topicACL("orders", Literal, "User:a", Wildcard, Read, Allow),
	})
	with := func(change func(*Filter)) Filter {
		f := Everything()
		change(&f)
		return f
	}
	for _, c := range []struct {
		name string
		f    Filter
		want int
	}{
		{"everything", Everything(), 5},
		{"of that name", with(func(f *Filter) { f.Name = &orders }), 2},
		{"literal of that name", with(func(f *Filter) { f.Name, f.Kind = &orders, Literal }), 1},
		{"what counts for it", with(func(f *Filter) { f.Name, f.Kind = &orders, MatchPattern }), 4},
		{"prefixed", with(func(f *Filter) { f.Kind = Prefixed }), 2},
		{"without a name", with(func(f *Filter) { f.Name = &none }), 0},
		{"of groups", with(func(f *Filter) { f.Type = Group }), 0},
		{"of bob", with(func(f *Filter) { f.Principal = &bob }), 1},
		{"denials", with(func(f *Filter) { f.Permission = Deny }), 1},
		{"to read", with(func(f *Filter) { f.Operation = Read }), 4},
	} {
		if got := rules.Selected(c.f); len(got) != c.want {
			t.Errorf("%s: %d, want %d: %+v", c.name, len(got), c.want, got)
		}
	}
}

func TestSuperUsersAreRead(t *testing.T) {
	s, err := ReadSettings(map[string]string{AuthorizerClass: StandardAuthorizer, SuperUsers: "User:CN=a,O=b; User:c:d;", AllowIfNoACL: "true"})
	if err != nil || !s.On || !s.OpenUnlessNamed || len(s.Super) != 2 || !s.Super["User:CN=a,O=b"] || !s.Super["User:c:d"] {
		t.Errorf("%+v, %v", s, err)
	}
	for _, wrong := range []string{"admin", "User:", ":admin", "User:a;b"} {
		if _, err := ReadSettings(map[string]string{SuperUsers: wrong}); err == nil {
			t.Errorf("super.users=%s was taken", wrong)
		}
	}
}

func TestACredentialIsNotPrinted(t *testing.T) {
	c := Credential{Salt: []byte("salt"), StoredKey: []byte("stored"), ServerKey: []byte("server"), Iterations: 4096}
	held := map[UserMechanism]Credential{{"a", ScramSHA256}: c}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		got := fmt.Sprintf(verb, held)
		for _, secret := range []string{"salt", "stored", "server", "[115", fmt.Sprintf("%x", "stored")} {
			if strings.Contains(got, secret) {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
	if text, err := json.Marshal(c); err != nil || strings.Contains(string(text), "c3RvcmVk") {
		t.Errorf("%s, %v", text, err)
	}
}
