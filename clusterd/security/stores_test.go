package security

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"lockstep/testkit/authority"
)

// shown is the name in the certificate that a listener shows now.
func shown(t *testing.T, c *Certificates) string {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		s := tls.Server(server, c.Config())
		_ = s.Handshake()
		s.Close()
	}()
	line := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
	if err := line.Handshake(); err != nil {
		t.Fatal(err)
	}
	return line.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// TestStoresAreReadAnew when they change, and what cannot be used changes nothing.
func TestStoresAreReadAnew(t *testing.T) {
	a := authority.New(t, "ca")
	first, second := a.Issue(pkix.Name{CommonName: "first"}, nil), a.Issue(pkix.Name{CommonName: "second"}, nil)
	path := a.File("key.pem", first.Key, first.Chain)
	var broken []error
	c, err := ReadCertificates(Stores{KeyFile: path, Oldest: tls.VersionTLS12, Newest: tls.VersionTLS13}, func(err error) { broken = append(broken, err) })
	if err != nil {
		t.Fatal(err)
	}
	later := func() {
		c.mu.Lock()
		c.looked = c.looked.Add(-lookEvery)
		c.mu.Unlock()
	}
	if got := shown(t, c); got != "first" || time.Until(c.Ends()) > time.Hour || time.Until(c.Ends()) < 50*time.Minute {
		t.Error(got, c.Ends())
	}
	a.File("key.pem", first.Key, second.Chain)
	later()
	if got := shown(t, c); got != "first" || len(broken) != 1 || !strings.Contains(broken[0].Error(), "ssl.keystore") {
		t.Error(got, broken)
	}
	a.File("key.pem", second.Key, second.Chain, "\n")
	later()
	if got := shown(t, c); got != "second" || len(broken) != 1 {
		t.Error(got, broken)
	}
}

func TestStoresThatCannotBeUsedAreNamed(t *testing.T) {
	a := authority.New(t, "ca")
	one, other := a.Issue(pkix.Name{CommonName: "one"}, nil), a.Issue(pkix.Name{CommonName: "other"}, nil)
	open := a.File("open.pem", one.Key, one.Chain)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		s    Stores
		want string
	}{
		"no file":              {Stores{KeyFile: "/does/not/exist"}, "ssl.keystore.location"},
		"a directory":          {Stores{KeyFile: t.TempDir()}, "is no file"},
		"others may read":      {Stores{KeyFile: open}, "chmod 600 " + open},
		"no key":               {Stores{KeyFile: a.File("chain.pem", one.Chain)}, "ssl.keystore"},
		"another's key":        {Stores{Key: other.Key, Chain: one.Chain}, "ssl.keystore"},
		"nobody to sign":       {Stores{Key: one.Key, Chain: one.Chain, ClientAuth: tls.RequireAndVerifyClientCert}, "ssl.truststore.location"},
		"no certificate there": {Stores{Key: one.Key, Chain: one.Chain, Trust: "x"}, "ssl.truststore"},
	} {
		if _, err := ReadCertificates(c.s, nil); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
