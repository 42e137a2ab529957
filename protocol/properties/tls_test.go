package properties

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) certificate() string { return inPEM("CERTIFICATE", a.cert.Raw) }

func inPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// issue makes a certificate of a name and its key.
func (a *authority) issue(name string) (chain, key string) {
	a.t.Helper()
	c := &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature}
	if ip := net.ParseIP(name); ip != nil {
		c.DNSNames, c.IPAddresses = nil, []net.IP{ip}
	}
	cert, private := a.sign(c)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return inPEM("CERTIFICATE", cert.Raw), inPEM("PRIVATE KEY", der)
}

// greeter says hello over TLS to whom it trusts: anybody, if clients is nil.
func greeter(t *testing.T, chain, key string, clients *authority) net.Addr {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(clients.cert)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				c := tls.Server(nc, config)
				if _, err := c.Write([]byte("hello")); err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr()
}

func TestWhomWeTrustIsWhatThePropertiesSay(t *testing.T) {
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	chain, key := ours.issue("127.0.0.1")
	address := greeter(t, chain, key, nil).String()
	strict := greeter(t, chain, key, ours).String()
	elsewhere, elsewhereKey := ours.issue("elsewhere")
	misnamed := greeter(t, elsewhere, elsewhereKey, nil).String()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go func() {
		for {
			nc, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Write([]byte("this is no TLS, whatever it is"))
			nc.Close()
		}
	}()

	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	client, clientKey := ours.issue("client")
	foreign, foreignKey := others.issue("client")
	trust := map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": file("ca", ours.certificate())}
	for _, c := range []struct {
		name, address string
		with          map[string]string
		want          string
	}{
		{"trusted", address, trust, ""},
		{"trusted, in the property", address, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": ours.certificate()}, ""},
		{"TLS 1.2", address, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": dir + "/ca", "ssl.enabled.protocols": "TLSv1.2"}, ""},
		{"nobody is trusted", address, nil, "see ssl.truststore.location"},
		{"others are trusted", address, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": others.certificate()}, "see ssl.truststore.location"},
		{"another name", misnamed, trust, "see ssl.endpoint.identification.algorithm"},
		{"any name", misnamed, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": dir + "/ca", "ssl.endpoint.identification.algorithm": ""}, ""},
		{"any name of others", misnamed, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": others.certificate(), "ssl.endpoint.identification.algorithm": ""}, "unknown authority"},
		{"no TLS there", plain.Addr().String(), trust, "see security.protocol and the port"},
		{"no file", address, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": dir + "/none"}, "ssl.truststore.location"},
		{"no certificate", address, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": file("empty", "\n")}, "no certificate in PEM"},
		{"no key", address, map[string]string{"ssl.keystore.type": "PEM", "ssl.keystore.location": dir + "/ca"}, "ssl.keystore"},
		{"we are known", strict, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": dir + "/ca", "ssl.keystore.type": "PEM", "ssl.keystore.location": file("key", client+clientKey)}, ""},
		{"we are known by what the properties hold", strict, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": dir + "/ca", "ssl.keystore.type": "PEM",
			"ssl.keystore.certificate.chain": client, "ssl.keystore.key": "${directory:" + filepath.Dir(file("only-key", clientKey)) + ":only-key}"}, ""},
		{"we show nothing", strict, trust, "see ssl.keystore.location"},
		{"we are not known", strict, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": dir + "/ca", "ssl.keystore.type": "PEM", "ssl.keystore.location": file("foreign", foreign+foreignKey)}, "see ssl.keystore.location"},
	} {
		kv := map[string]string{"security.protocol": "SSL"}
		for name, value := range c.with {
			kv[name] = value
		}
		s, err := ReadSecurity(kv, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		// TLS 1.3 refuses a client after its handshake: the answer to the first read.
		err = hello(t.Context(), s, c.address)
		if err != nil {
			err = TLSError(c.address, err)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func hello(ctx context.Context, s Security, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	secured, err := s.Secure(ctx, nc, address)
	if err != nil {
		return err
	}
	defer secured.Close()
	_, err = io.ReadFull(secured, make([]byte, 5))
	return err
}
