package properties

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

func (s *Security) readStores(kv map[string]string) error {
	if !s.tls {
		return nil
	}
	s.trustFile, s.trust = kv["ssl.truststore.location"], kv["ssl.truststore.certificates"]
	s.keyFile, s.key, s.chain = kv["ssl.keystore.location"], kv["ssl.keystore.key"], kv["ssl.keystore.certificate.chain"]
	for _, store := range []struct{ name, file, inline string }{
		{"ssl.truststore", s.trustFile, s.trust}, {"ssl.keystore", s.keyFile, s.key + s.chain},
	} {
		kind := strings.ToUpper(kv[store.name+".type"])
		switch {
		case store.file == "" && store.inline == "" && (kind == "" || kind == "PEM"):
		case kind != "PEM":
			return fmt.Errorf("%s.type=%s: stores are read as PEM; convert it (keytool -importkeystore, then openssl pkcs12) and say %s.type=PEM", store.name, kind, store.name)
		case store.file != "" && store.inline != "":
			return fmt.Errorf("%s.location and what it would hold were given: keep one of them", store.name)
		}
	}
	if (s.key == "") != (s.chain == "") {
		return errors.New("ssl.keystore.key and ssl.keystore.certificate.chain go together")
	}
	switch a := strings.ToLower(kv["ssl.endpoint.identification.algorithm"]); a {
	case "https":
	case "":
		_, s.anyName = kv["ssl.endpoint.identification.algorithm"]
	default:
		return fmt.Errorf("ssl.endpoint.identification.algorithm=%s: use https, or nothing to accept a certificate of any name", a)
	}
	return nil
}

var tlsVersions = map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

func (s *Security) readVersions(kv map[string]string) error {
	if p := kv["ssl.protocol"]; p != "" && p != "TLS" && tlsVersions[p] == 0 {
		return fmt.Errorf("ssl.protocol=%s: use TLSv1.3 or TLSv1.2", p)
	}
	if !s.tls || kv["ssl.enabled.protocols"] == "" {
		return nil
	}
	for p := range strings.SplitSeq(kv["ssl.enabled.protocols"], ",") {
		v := tlsVersions[strings.TrimSpace(p)]
		if v == 0 {
			return fmt.Errorf("ssl.enabled.protocols=%s: use TLSv1.2, TLSv1.3 or both", kv["ssl.enabled.protocols"])
		}
		if s.oldestTLS == 0 || v < s.oldestTLS {
			s.oldestTLS = v
		}
		s.newestTLS = max(s.newestTLS, v)
	}
	return nil
}

// tlsConfig reads the stores as they are now.
func (s Security) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: max(s.oldestTLS, tls.VersionTLS12), MaxVersion: s.newestTLS}
	trust, err := s.pem("ssl.truststore.location", s.trustFile, "ssl.truststore.certificates", s.trust, readSmall)
	if err != nil {
		return nil, err
	}
	if trust != nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(trust) {
			return nil, errors.New("ssl.truststore: no certificate in PEM is in it")
		}
	}
	key, err := s.pem("ssl.keystore.location", s.keyFile, "ssl.keystore.key", s.key, s.places.read)
	if err != nil {
		return nil, err
	}
	if key != nil {
		chain := key // a file holds both
		if s.keyFile == "" {
			text, err := s.places.Resolve(s.chain)
			if err != nil {
				return nil, fmt.Errorf("ssl.keystore.certificate.chain: %w", err)
			}
			chain = []byte(text)
		}
		pair, err := tls.X509KeyPair(chain, key)
		if err != nil {
			return nil, fmt.Errorf("ssl.keystore: %w; it holds a certificate chain and its key, which is not encrypted, in PEM", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if s.anyName {
		roots := c.RootCAs
		c.InsecureSkipVerify = true // the chain is verified here, its name is not
		c.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("the broker showed no certificate")
			}
			between := x509.NewCertPool()
			for _, cert := range state.PeerCertificates[1:] {
				between.AddCert(cert)
			}
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
			return err
		}
	}
	return c, nil
}

// pem is what stands in a file or in the property itself, nil if neither was given.
func (s Security) pem(fileName, file, inlineName, inline string, read func(string) ([]byte, error)) ([]byte, error) {
	if file != "" {
		path, err := s.places.Resolve(file)
		if err == nil {
			var text []byte
			if text, err = read(path); err == nil {
				return text, nil
			}
		}
		return nil, fmt.Errorf("%s: %w", fileName, err)
	}
	if inline == "" {
		return nil, nil
	}
	text, err := s.places.Resolve(inline)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inlineName, err)
	}
	return []byte(text), nil
}

// Secure makes a connection that was just opened to addr, host:port, one as security.protocol wants it: with a TLS
// handshake, or as it is. On an error the connection is closed.
func (s Security) Secure(ctx context.Context, nc net.Conn, addr string) (net.Conn, error) {
	if !s.tls {
		return nc, nil
	}
	config, err := s.tlsConfig()
	if err == nil {
		if config.ServerName, _, err = net.SplitHostPort(addr); err == nil {
			secured := tls.Client(nc, config)
			if err = secured.HandshakeContext(ctx); err == nil {
				return secured, nil
			}
			err = TLSError(addr, err)
		}
	}
	nc.Close()
	return nil, err
}

// TLSError says which setting an error of a connection with TLS to addr hangs on, if it is one of TLS and says so not yet. A
// broker that does not take our certificate tells so after the handshake: the first read fails.
func TLSError(addr string, err error) error {
	remedy := ""
	var alert tls.AlertError
	var op *net.OpError
	switch {
	case errors.As(err, new(*refusedTLS)):
		return err
	case errors.As(err, new(x509.HostnameError)):
		remedy = "ask by a name in its certificate, or see ssl.endpoint.identification.algorithm"
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(x509.UnknownAuthorityError)):
		remedy = "see ssl.truststore.location"
	case errors.As(err, new(tls.RecordHeaderError)):
		remedy = "the broker does not speak TLS there: see security.protocol and the port"
	case errors.As(err, &alert), errors.As(err, &op) && op.Op == "remote error":
		remedy = "the broker refused us: see ssl.keystore.location"
	default:
		return err
	}
	return &refusedTLS{fmt.Errorf("TLS with %s: %w; %s", addr, err, remedy)}
}

// refusedTLS is an error that names its remedy.
type refusedTLS struct{ error }

func (r *refusedTLS) Unwrap() error { return r.error }
