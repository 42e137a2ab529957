package properties

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/testkit/authority"
)

// issue makes a certificate of a name, or of an address, and its key.
func issue(a *authority.Authority, name string) (chain, key string) {
	i := a.Issue(pkix.Name{CommonName: name}, func(c *x509.Certificate) {
		if net.ParseIP(name) == nil {
			c.DNSNames, c.IPAddresses = []string{name}, nil
		}
	})
	return i.Chain, i.Key
}

// greeter says hello over TLS to whom it trusts: anybody, if clients is nil.
func greeter(t *testing.T, chain, key string, clients *authority.Authority) net.Addr {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM([]byte(clients.PEM))
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
	ours, others := authority.New(t, "ours"), authority.New(t, "others")
	chain, key := issue(ours, "127.0.0.1")
	address := greeter(t, chain, key, nil).String()
	strict := greeter(t, chain, key, ours).String()
	elsewhere, elsewhereKey := issue(ours, "elsewhere")
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
	client, clientKey := issue(ours, "client")
	foreign, foreignKey := issue(others, "client")
	trust := map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": file("ca", ours.PEM)}
	for _, c := range []struct {
		name, address string
		with          map[string]string
		want          string
	}{
		{"trusted", address, trust, ""},
		{"trusted, in the property", address, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": ours.PEM}, ""},
		{"TLS 1.2", address, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": dir + "/ca", "ssl.enabled.protocols": "TLSv1.2"}, ""},
		{"nobody is trusted", address, nil, "see ssl.truststore.location"},
		{"others are trusted", address, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": others.PEM}, "see ssl.truststore.location"},
		{"another name", misnamed, trust, "see ssl.endpoint.identification.algorithm"},
		{"any name", misnamed, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": dir + "/ca", "ssl.endpoint.identification.algorithm": ""}, ""},
		{"any name of others", misnamed, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.certificates": others.PEM, "ssl.endpoint.identification.algorithm": ""}, "unknown authority"},
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
