package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

func topicACL(name string, who access.Principal) access.Binding {
	return access.Binding{Pattern: access.Pattern{Type: access.Topic, Name: name, Kind: access.Literal}, Principal: who, Host: access.Wildcard,
		Operation: access.Read, Permission: access.Allow}
}

func (w *world) createACLs(list ...access.Binding) (codes []perr.Code) {
	w.t.Helper()
	for _, e := range w.do(CreateACLs{Bindings: list}) {
		if a, ok := e.(ACLsCreated); ok {
			for _, r := range a.Results {
				if (r.Code == perr.None) != (r.Text == "") {
					w.t.Errorf("code %d says %q", r.Code, r.Text)
				}
				codes = append(codes, r.Code)
			}
		}
	}
	return codes
}

func (w *world) deleteACLs(filters ...access.Filter) (results []ACLsMatched) {
	w.t.Helper()
	for _, e := range w.do(DeleteACLs{Filters: filters}) {
		if a, ok := e.(ACLsDeleted); ok {
			results = a.Results
		}
	}
	return results
}

// told is what brokers know, also after a new start.
func (w *world) told() access.Rules {
	w.t.Helper()
	before := w.img
	w.replay()
	w.do(RestartCluster{Cluster: "dc1", Brokers: brokersUpTo(1)})
	if !w.img.ACLs.Equal(before.ACLs) || !maps.EqualFunc(w.img.Credentials, before.Credentials, access.Credential.Equal) {
		w.t.Errorf("%d ACLs and %d credentials, and %d and %d after a start", before.ACLs.Len(), len(before.Credentials), w.img.ACLs.Len(), len(w.img.Credentials))
	}
	return w.img.ACLs
}

func TestACLsAreMadeOneByOne(t *testing.T) {
	w := newWorld(t)
	good := topicACL("orders", "User:alice")
	with := func(change func(*access.Binding)) access.Binding {
		b := good
		change(&b)
		return b
	}
	odd := []access.Binding{
		with(func(b *access.Binding) { b.Principal = `User:CN=a,OU="x y",O=ü` }),
		with(func(b *access.Binding) { b.Principal = "User:a:b" }),
		with(func(b *access.Binding) {
			b.Pattern = access.Pattern{Type: access.Group, Name: "grüße, 群组:1", Kind: access.Prefixed}
		}),
		with(func(b *access.Binding) { b.Operation = access.ClusterAction }), // which no topic has
		with(func(b *access.Binding) { b.Pattern.Type = access.ClusterMirror }),
		with(func(b *access.Binding) { b.Pattern.Type, b.Pattern.Name = access.Cluster, access.ClusterName }),
	}
	codes := w.createACLs(append([]access.Binding{good, good}, odd...)...)
	if len(codes) != 2+len(odd) || slices.ContainsFunc(codes, func(c perr.Code) bool { return c != perr.None }) {
		t.Fatalf("%v", codes)
	}
	entries := len(w.entries)
	if codes := w.createACLs(good); codes[0] != perr.None || len(w.entries) != entries {
		t.Errorf("one that is there already: %v, %d entries more", codes, len(w.entries)-entries)
	}
	for what, bad := range map[string]access.Binding{
		"any type":           with(func(b *access.Binding) { b.Pattern.Type = access.AnyType }),
		"no type":            with(func(b *access.Binding) { b.Pattern.Type = 0 }),
		"an unknown type":    with(func(b *access.Binding) { b.Pattern.Type = 99 }),
		"a match":            with(func(b *access.Binding) { b.Pattern.Kind = access.MatchPattern }),
		"any operation":      with(func(b *access.Binding) { b.Operation = access.AnyOperation }),
		"an unknown one":     with(func(b *access.Binding) { b.Operation = 16 }),
		"any permission":     with(func(b *access.Binding) { b.Permission = access.AnyPermission }),
		"a negative one":     with(func(b *access.Binding) { b.Permission = -1 }),
		"no name":            with(func(b *access.Binding) { b.Pattern.Name = "" }),
		"a long name":        with(func(b *access.Binding) { b.Pattern.Name = strings.Repeat("n", 1025) }),
		"another cluster":    with(func(b *access.Binding) { b.Pattern.Type, b.Pattern.Name = access.Cluster, "other" }),
		"nobody":             with(func(b *access.Binding) { b.Principal = "" }),
		"no principal type":  with(func(b *access.Binding) { b.Principal = "alice" }),
		"a long principal":   with(func(b *access.Binding) { b.Principal = access.UserNamed(strings.Repeat("n", 1025)) }),
		"no host":            with(func(b *access.Binding) { b.Host = "" }),
		"a host beyond size": with(func(b *access.Binding) { b.Host = strings.Repeat("h", 256) }),
	} {
		if codes := w.createACLs(bad, good); codes[0] != perr.InvalidRequest || codes[1] != perr.None {
			t.Errorf("%s: %v", what, codes)
		}
	}
	if n := w.told().Len(); n != 1+len(odd) {
		t.Errorf("%d ACLs", n)
	}
}

func TestEachFilterIsToldWhatItRemoves(t *testing.T) {
	w := newWorld(t)
	a, b, c := topicACL("a", "User:x"), topicACL("b", "User:x"), topicACL("c", "User:y")
	w.createACLs(a, b, c)
	x, name := access.Principal("User:x"), "b"
	ofX, named, wrong := access.Everything(), access.Everything(), access.Everything()
	ofX.Principal, named.Name, wrong.Operation = &x, &name, 99
	got := w.deleteACLs(ofX, wrong, named)
	if len(got) != 3 || !slices.Equal(got[0].Removed, []access.Binding{a, b}) || got[1].Code != perr.InvalidRequest || got[1].Text == "" || !slices.Equal(got[2].Removed, []access.Binding{b}) {
		t.Fatalf("%+v", got)
	}
	if left := w.told(); left.Len() != 1 || !left.Has(c) {
		t.Errorf("%d are left", left.Len())
	}
	if got := w.deleteACLs(ofX); got[0].Code != perr.None || len(got[0].Removed) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestACLsAreBounded(t *testing.T) {
	w := newWorld(t)
	var list []access.Binding
	for i := range maxACLs + 2 {
		list = append(list, topicACL(fmt.Sprint("t", i), "User:x"))
	}
	codes := w.createACLs(list[1:]...)
	if codes[maxACLs-1] != perr.None || codes[maxACLs] != perr.PolicyViolation || len(w.entries) != maxACLs/aclsPerEvent {
		t.Errorf("%s, %s, %d entries", codes[maxACLs-1], codes[maxACLs], len(w.entries))
	}
	if codes := w.createACLs(list[0], list[1]); codes[0] != perr.PolicyViolation || codes[1] != perr.None {
		t.Errorf("beyond the most: %v", codes)
	}
	all := access.Everything()
	many := slices.Repeat([]access.Filter{all}, maxWideFilters+2)
	many[0].Type = access.Group // which selects nothing
	for i, r := range w.deleteACLs(many...) {
		want := perr.PolicyViolation
		if i < 2 {
			want = perr.None
		}
		if r.Code != want {
			t.Errorf("filter %d: %s", i, r.Code)
		}
	}
	if w.told().Len() != 0 {
		t.Error("not all are gone")
	}
}

func TestACLsOfOneResourceAreManyWithoutBeingSlow(t *testing.T) {
	w := newWorld(t)
	var list []access.Binding
	for i := range 4_000 {
		list = append(list, topicACL("t", access.UserNamed(fmt.Sprint(4_000-i))))
	}
	w.createACLs(list...)
	if !w.told().Allowed(access.Settings{On: true}, "User:7", "h", access.Describe, access.Topic, "t") {
		t.Error("a user may not what it may")
	}
}

// credential is one of a password, as a tool would ask for it.
func credential(user string, m access.Mechanism, iterations int32) CredentialChange {
	return CredentialChange{Of: access.UserMechanism{User: user, Mechanism: m}, Credential: access.ScramSHA256.Salted([]byte("salted"), []byte("salt"), iterations)}
}

func (w *world) alterCredentials(changes ...CredentialChange) (results []CredentialResult) {
	w.t.Helper()
	for _, e := range w.do(AlterCredentials{Changes: changes}) {
		if a, ok := e.(CredentialsAnswered); ok {
			results = a.Results
		}
	}
	w.told()
	return results
}

func TestCredentialsAreAlteredUserByUser(t *testing.T) {
	w := newWorld(t)
	remove := func(user string, m access.Mechanism) CredentialChange {
		return CredentialChange{Of: access.UserMechanism{User: user, Mechanism: m}, Remove: true}
	}
	salt := credential("s", access.ScramSHA256, 4096)
	salt.Credential.Salt = make(core.Secret, 1025)
	none := credential("s", access.ScramSHA256, 4096)
	none.Credential.Salt = nil
	has := func(user string, m access.Mechanism) bool {
		_, stored, server, iterations, ok := w.img.Credential(m.String(), user)
		return ok && len(stored) == 32 && len(server) == 32 && iterations >= 4096
	}
	for _, c := range []struct {
		what    string
		changes []CredentialChange
		users   []string
		codes   []perr.Code
	}{
		{"two users", []CredentialChange{credential("a", access.ScramSHA256, 4096), credential("b", access.ScramSHA512, 16384)}, []string{"a", "b"}, []perr.Code{0, 0}},
		{"another mechanism", []CredentialChange{credential("a", access.ScramSHA512, 8192)}, []string{"a"}, []perr.Code{0}},
		{"one twice", []CredentialChange{credential("c", access.ScramSHA512, 4096), credential("d", access.ScramSHA512, 0), credential("c", access.ScramSHA256, 4096), credential("d", access.ScramSHA512, 4096)}, []string{"c", "d"}, []perr.Code{perr.DuplicateResource, perr.UnacceptableCredential}},
		{"removed and made", []CredentialChange{remove("a", access.ScramSHA256), credential("a", access.ScramSHA256, 4096)}, []string{"a"}, []perr.Code{perr.DuplicateResource}},
		{"iterations", []CredentialChange{credential("d", access.ScramSHA256, 4095), credential("e", access.ScramSHA256, 16385), credential("f", access.ScramSHA256, -1)}, []string{"d", "e", "f"}, []perr.Code{perr.UnacceptableCredential, perr.UnacceptableCredential, perr.UnacceptableCredential}},
		{"no user", []CredentialChange{credential("", access.ScramSHA256, 4096)}, []string{""}, []perr.Code{perr.UnacceptableCredential}},
		{"a long user", []CredentialChange{credential(strings.Repeat("u", 250), access.ScramSHA256, 4096)}, []string{strings.Repeat("u", 250)}, []perr.Code{perr.UnacceptableCredential}},
		{"mechanisms", []CredentialChange{credential("g", 0, 4096), credential("h", 3, 4096), remove("i", -1)}, []string{"g", "h", "i"}, []perr.Code{perr.UnsupportedSaslMechanism, perr.UnsupportedSaslMechanism, perr.UnsupportedSaslMechanism}},
		{"salts", []CredentialChange{salt}, []string{"s"}, []perr.Code{perr.UnacceptableCredential}},
		{"no salt", []CredentialChange{none}, []string{"s"}, []perr.Code{perr.UnacceptableCredential}},
		{"what is not there", []CredentialChange{remove("z", access.ScramSHA256), remove("b", access.ScramSHA512)}, []string{"z", "b"}, []perr.Code{perr.ResourceNotFound, 0}},
		{"changed", []CredentialChange{credential("a", access.ScramSHA256, 5000)}, []string{"a"}, []perr.Code{0}},
	} {
		got := w.alterCredentials(c.changes...)
		var users []string
		var codes []perr.Code
		for _, r := range got {
			users, codes = append(users, r.User), append(codes, r.Code)
			if (r.Code == perr.None) != (r.Text == "") {
				t.Errorf("%s: code %d says %q", c.what, r.Code, r.Text)
			}
		}
		if !slices.Equal(users, c.users) || !slices.Equal(codes, c.codes) {
			t.Errorf("%s: %v %v", c.what, users, codes)
		}
	}
	if !has("a", access.ScramSHA256) || !has("a", access.ScramSHA512) || has("b", access.ScramSHA512) || len(w.img.Credentials) != 2 || w.img.Credentials[access.UserMechanism{User: "a", Mechanism: access.ScramSHA256}].Iterations != 5000 {
		t.Errorf("%v", w.img.Credentials)
	}
}

func TestCredentialsAreBounded(t *testing.T) {
	w := newWorld(t)
	var changes []CredentialChange
	for i := range maxCredentials + 2 {
		changes = append(changes, credential(fmt.Sprint("u", i), access.ScramSHA256, 4096))
	}
	if got := w.alterCredentials(changes[:maxCredentials+1]...); got[maxCredentials-1].Code != perr.None || got[maxCredentials].Code != perr.PolicyViolation {
		t.Errorf("%+v", got[maxCredentials-1:])
	}
	if got := w.alterCredentials(credential("u0", access.ScramSHA512, 4097), credential("u1", access.ScramSHA256, 4097)); got[0].Code != perr.PolicyViolation || got[1].Code != perr.None {
		t.Errorf("%+v", got)
	}
	if n := len(w.img.Credentials); n != maxCredentials {
		t.Errorf("%d credentials", n)
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	change := credential("a", access.ScramSHA256, 4096)
	w := newWorld(t)
	w.alterCredentials(change)
	record := w.s.credentials[change.Of]
	for _, v := range []any{CredentialAltered{record}, change, w.img.Credentials, image.CredentialChanged{Of: change.Of, Credential: change.Credential}, Snapshot{Credentials: w.s.credentialsInOrder()}} {
		for _, verb := range []string{"%v", "%+v", "%#v"} {
			text := fmt.Sprintf(verb, v)
			for _, secret := range [][]byte{change.Credential.StoredKey, change.Credential.ServerKey} {
				for _, form := range []string{fmt.Sprint(secret[:4])[1:12], fmt.Sprintf("%x", secret[:4]), fmt.Sprintf("%#v", secret[:4])[7:20]} {
					if strings.Contains(text, form) {
						t.Errorf("%s of %T shows a key: %s", verb, v, text)
					}
				}
			}
		}
	}
}
