package security

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"strings"
	"testing"

	"lockstep/testkit/authority"
)

// TestSubjectsAreThoseOfJava: ACLs are written for them.
func TestSubjectsAreThoseOfJava(t *testing.T) {
	a := authority.New(t, "ca")
	mail := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}
	for want, name := range map[string]pkix.Name{
		"CN=kafka":           {CommonName: "kafka"},
		"CN=a,OU=b,O=c,C=DE": {CommonName: "a", OrganizationalUnit: []string{"b"}, Organization: []string{"c"}, Country: []string{"DE"}},
		`CN=a\,b\=c\+\"x\" \<y\>\;\#\\,L=\ there\ ,ST=here`: {CommonName: `a,b=c+"x" <y>;#\`, Province: []string{"here"}, Locality: []string{" there "}},
		"CN=ü":                                  {CommonName: "ü"},
		"OU=x+OU=y":                             {OrganizationalUnit: []string{"x", "y"}},
		"UID=me,DC=org,CN=a":                    {CommonName: "a", ExtraNames: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "a"}, {Type: asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}, Value: "org"}, {Type: asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 1}, Value: "me"}}},
		"1.2.840.113549.1.9.1=#160361407a,CN=a": {ExtraNames: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "a"}, {Type: mail, Value: asn1.RawValue{FullBytes: []byte{0x16, 3, 'a', '@', 'z'}}}}},
		"":                                      {},
	} {
		der, _ := pem.Decode([]byte(a.Issue(name, nil).Chain))
		cert, err := x509.ParseCertificate(der.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Subject(cert); err != nil || got != want {
			t.Errorf("%s, want %s (%v)", got, want, err)
		}
	}
}

func TestNamesAreMapped(t *testing.T) {
	const dn = "CN=Duke,OU=ServiceUsers,O=Org/X,C=US"
	for rules, want := range map[string]string{
		"":                                       dn,
		"DEFAULT":                                dn,
		"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/":  "Duke",
		"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L": "duke",
		"RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/U, DEFAULT":                           "DUKE@SERVICEUSERS",
		"RULE:^CN=nobody$/x/,RULE:.*O=Org\\/(.).*/a\\/$1/,DEFAULT":               "a/X",
		"RULE:CN=Duke/wrong: not the whole name/, RULE:^cn=(.*)$/$1/ , DEFAULT ": dn,
		"RULE:^CN=(\\w+),.*/$1/L,DEFAULT":                                        "duke",
	} {
		m, err := ParseMapping(rules)
		if err != nil {
			t.Errorf("%q: %v", rules, err)
			continue
		}
		if got, err := m.User(dn); err != nil || got != want {
			t.Errorf("%q: %q, want %q (%v)", rules, got, want, err)
		}
	}
	m, err := ParseMapping("RULE:^CN=other$/x/")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.User(dn); err == nil {
		t.Errorf("nothing matches, and the user is %q", got)
	}
	for _, bad := range []string{"default", "RULE:", "RULE:a/b", "RULE:a/b/X", "RULE:(/b/", "RULE:a/$1/", "RULE:(a)/$12/", "DEFAULTS", "RULE:a/b/L DEFAULT"} {
		if _, err := ParseMapping(bad); err == nil || !strings.Contains(err.Error(), "ssl.principal.mapping.rules") {
			t.Errorf("%q is taken (%v)", bad, err)
		}
	}
}
