package front

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/clusterd/security"
	"lockstep/testkit/authority"
)

// overTLS makes the brokers of a house speak TLS, with a certificate of the authority, which signs those of clients, too.
func (h *house) overTLS(a *authority.Authority, p security.Protocol, auth tls.ClientAuthType, rules string) {
	h.t.Helper()
	own := a.Issue(pkix.Name{CommonName: "broker"}, nil)
	c, err := security.ReadCertificates(security.Stores{Key: own.Key, Chain: own.Chain, Trust: a.PEM, ClientAuth: auth, Oldest: tls.VersionTLS12, Newest: tls.VersionTLS13}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	names, err := security.ParseMapping(rules)
	if err != nil {
		h.t.Fatal(err)
	}
	h.asking(func(l *Listener) { l.Protocol, l.Name, l.Certificates, l.Names = p, string(p), c, names })
}

// only are the settings under which one principal may do everything, and nobody else anything.
func only(who access.Principal) map[string]string {
	return map[string]string{access.AuthorizerClass: access.StandardAuthorizer, access.SuperUsers: string(who)}
}

func TestACertificateIsWhoAClientIs(t *testing.T) {
	a := authority.New(t, "ca")
	h := newHouse(t, 1)
	h.settings = only("User:alice")
	h.overTLS(a, security.SSL, tls.RequireAndVerifyClientCert, "RULE:^CN=(.*?),O=Us$/$1/L")
	as := func(name pkix.Name) kgo.Opt {
		return kgo.DialTLSConfig(&tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{a.Issue(name, nil).Pair(t)}})
	}
	alice := pkix.Name{CommonName: "ALICE", Organization: []string{"Us"}}
	c := h.client(as(alice), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"), kgo.ConsumeTopics("t"))
	if err := c.ProduceSync(patient(t), values("v", 3)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "read", poll(t, c, 3), []string{"v-0", "v-1", "v-2"})
	if err := h.client(as(pkix.Name{CommonName: "bob", Organization: []string{"Us"}}), kgo.DefaultProduceTopic("t")).ProduceSync(patient(t), values("v", 1)...).FirstErr(); err == nil {
		t.Error("bob writes where only alice may")
	}
	k := &talk{t, h.dialTLS(&tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{a.Issue(pkix.Name{CommonName: "carol"}, nil).Pair(t)}}), 0}
	if k.ask(kmsg.NewPtrApiVersionsRequest(), 0) != nil {
		t.Error("a certificate that no rule names is let in")
	}
}

func (h *house) dialTLS(c *tls.Config) net.Conn {
	h.t.Helper()
	c.ServerName = "127.0.0.1"
	return tls.Client(dial(h.t, h.addrs[0]), c)
}

// TestBadCertificatesAreRefused (A15).
func TestBadCertificatesAreRefused(t *testing.T) {
	a, b := authority.New(t, "ca"), authority.New(t, "ca")
	h := newHouse(t, 1)
	h.overTLS(a, security.SSL, tls.RequireAndVerifyClientCert, "")
	name := pkix.Name{CommonName: "alice"}
	with := func(i authority.Issued) *tls.Config {
		return &tls.Config{RootCAs: a.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair := i.Pair(t)
			return &pair, nil
		}}
	}
	old := with(a.Issue(name, nil))
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	for what, c := range map[string]*tls.Config{
		"none":              {RootCAs: a.Pool()},
		"expired":           with(a.Issue(name, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })),
		"not valid yet":     with(a.Issue(name, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })),
		"of another":        with(b.Issue(name, nil)),
		"signed by itself":  with(authority.New(t, "alice").Issue(name, func(c *x509.Certificate) { c.SerialNumber = big.NewInt(1) })),
		"of a server alone": with(a.Issue(name, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })),
		"in TLS 1.1":        old,
	} {
		k := &talk{t, h.dialTLS(c), 0}
		if k.ask(kmsg.NewPtrApiVersionsRequest(), 0) != nil {
			t.Errorf("a certificate %s is taken", what)
		}
	}
	k := h.talk(1)
	if k.ask(kmsg.NewPtrApiVersionsRequest(), 0) != nil {
		t.Error("plaintext is answered")
	}
	good := &talk{t, h.dialTLS(with(a.Issue(name, nil))), 0}
	if good.ask(kmsg.NewPtrApiVersionsRequest(), 0) == nil {
		t.Error("a good certificate is refused")
	}
	var unknown x509.UnknownAuthorityError
	if err := h.dialTLS(&tls.Config{RootCAs: b.Pool()}).(*tls.Conn).Handshake(); !errors.As(err, &unknown) {
		t.Error("a client takes a broker of another:", err)
	}
}

// TestSASLOverTLS: the certificate opens the door, the password says who comes in.
func TestSASLOverTLS(t *testing.T) {
	a := authority.New(t, "ca")
	h := newHouse(t, 1)
	h.settings = only("User:alice")
	h.overTLS(a, security.SASLSSL, tls.VerifyClientCertIfGiven, "")
	bob := a.Issue(pkix.Name{CommonName: "bob"}, nil)
	for name, m := range mechanisms("alice", "alice-secret") {
		for what, c := range map[string]*tls.Config{"no certificate": {RootCAs: a.Pool()}, "another's": {RootCAs: a.Pool(), Certificates: []tls.Certificate{bob.Pair(t)}}} {
			k := h.client(kgo.DialTLSConfig(c), kgo.SASL(m), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"))
			if err := k.ProduceSync(patient(t), values("v", 3)...).FirstErr(); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// TestHandshakesOfTLSTakeOnlySoLong, and a listener with many that stand ends at once (A11).
func TestHandshakesOfTLSTakeOnlySoLong(t *testing.T) {
	a := authority.New(t, "ca")
	h := newHouse(t, 1)
	h.limits.Login = 200 * time.Millisecond
	h.overTLS(a, security.SSL, tls.NoClientCert, "")
	k := h.talk(1)
	k.Write([]byte{22, 3, 1, 2}) // a record begins
	began := time.Now()
	if _, err := io.ReadAll(k); isTimeout(err) || time.Since(began) < h.limits.Login/2 {
		t.Errorf("it stays %s, %v", time.Since(began), err)
	}
	// Idle times and looks behind a request go on over TLS: a read that timed out spoils nothing.
	id := h.fillTLS(a)
	c := &talk{t, h.dialTLS(&tls.Config{RootCAs: a.Pool()}), 0}
	for range 3 {
		poll := fetchRequest(1<<20, ask{topic: id})
		poll.MaxWaitMs = 30
		if c.ask(poll, 13) == nil {
			t.Fatal("a fetch that waits is not answered")
		}
	}
}

func (h *house) fillTLS(a *authority.Authority) core.TopicID {
	h.t.Helper()
	c := h.client(kgo.DialTLSConfig(&tls.Config{RootCAs: a.Pool()}), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"))
	if err := c.ProduceSync(patient(h.t), values("v", 1)...).FirstErr(); err != nil {
		h.t.Fatal(err)
	}
	return h.cluster.Newest().Names["t"]
}
