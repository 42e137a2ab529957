package authority

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"
)

func TestACertificateHangsOnItsAuthority(t *testing.T) {
	a, b := New(t, "a"), New(t, "b")
	name := pkix.Name{CommonName: "x"}
	for _, c := range []struct {
		issued Issued
		good   bool
	}{
		{a.Issue(name, nil), true},
		{b.Issue(name, nil), false},
		{a.Issue(name, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), false},
	} {
		cert := c.issued.Pair(t).Leaf
		if _, err := cert.Verify(x509.VerifyOptions{Roots: a.Pool()}); (err == nil) != c.good {
			t.Errorf("good: %v, %v", c.good, err)
		}
	}
}
