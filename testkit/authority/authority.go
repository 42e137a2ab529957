// Package authority signs certificates for tests of TLS.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	PEM  string // of its own certificate
}

// New makes one that signs itself, for an hour.
func New(t *testing.T, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir(), key: newKey(t)}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der := a.sign(template, template, a.key)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.PEM = cert, block("CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *Authority) sign(c, parent *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Issued is a certificate with its key.
type Issued struct{ Chain, Key string }

// Issue makes a certificate of 127.0.0.1 for servers and clients; change may alter it before it is signed.
func (a *Authority) Issue(subject pkix.Name, change func(*x509.Certificate)) Issued {
	a.t.Helper()
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	if change != nil {
		change(c)
	}
	key := newKey(a.t)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return Issued{block("CERTIFICATE", a.sign(c, a.cert, key)), block("PRIVATE KEY", der)}
}

// Pair is what Go's TLS takes.
func (i Issued) Pair(t *testing.T) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(i.Chain), []byte(i.Key))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// File writes texts into a file that only its owner may read.
func (a *Authority) File(name string, texts ...string) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	text := ""
	for _, s := range texts {
		text += s
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// Pool trusts this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}
