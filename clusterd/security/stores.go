package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Stores are where certificates and keys are, in PEM: a file of each kind, or the text itself.
type Stores struct {
	KeyFile        string // a chain and its key
	Key, Chain     string
	TrustFile      string
	Trust          string
	ClientAuth     tls.ClientAuthType
	Oldest, Newest uint16 // versions of TLS, inclusive
}

// Certificates are those of a listener. Files that change are read anew, for connections that begin then. Methods may be
// called from any goroutine.
type Certificates struct {
	stores Stores
	broken func(error) // told when changed files cannot be used

	mu     sync.Mutex
	looked time.Time
	seen   [2]stamp
	config *tls.Config
	ends   time.Time
}

// stamp tells whether a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

const (
	lookEvery    = time.Second
	maxStoreFile = 1 << 20
)

// ReadCertificates reads the stores. Errors name Kafka's setting. broken is told of changed files that cannot be used: what
// was read before stays.
func ReadCertificates(s Stores, broken func(error)) (*Certificates, error) {
	c := &Certificates{stores: s, broken: broken, looked: time.Now()}
	c.seen = c.stamps()
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config is what a listener that uses them listens with.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.now(), nil }}
}

// Ends is when the certificate that is shown to clients expires.
func (c *Certificates) Ends() time.Time {
	c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends
}

func (c *Certificates) now() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if seen := c.stamps(); seen != c.seen {
			c.seen = seen
			if err := c.read(); err != nil {
				c.broken(err)
			}
		}
	}
	return c.config
}

func (c *Certificates) stamps() (seen [2]stamp) {
	for i, path := range []string{c.stores.KeyFile, c.stores.TrustFile} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			seen[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return seen
}

// read makes the config anew, or leaves it. c.mu is held, or nobody else knows c.
func (c *Certificates) read() error {
	s := c.stores
	key, chain := []byte(s.Key), []byte(s.Chain)
	if s.KeyFile != "" {
		text, err := readStore("ssl.keystore.location", s.KeyFile, true)
		if err != nil {
			return err
		}
		key, chain = text, text
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fmt.Errorf("ssl.keystore: %w; it holds a certificate chain and its key, which is not encrypted, in PEM", err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return fmt.Errorf("ssl.keystore: %w", err)
	}
	// No tickets: a session that is taken up again would stand on a certificate of before.
	config := &tls.Config{MinVersion: s.Oldest, MaxVersion: s.Newest, Certificates: []tls.Certificate{pair}, ClientAuth: s.ClientAuth, SessionTicketsDisabled: true}
	trust := []byte(s.Trust)
	if s.TrustFile != "" {
		if trust, err = readStore("ssl.truststore.location", s.TrustFile, false); err != nil {
			return err
		}
	}
	if len(trust) > 0 {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(trust) {
			return errors.New("ssl.truststore: no certificate in PEM is in it")
		}
	}
	if s.ClientAuth != tls.NoClientCert && config.ClientCAs == nil {
		return errors.New("ssl.client.auth asks clients for certificates: say with ssl.truststore.location who may sign them")
	}
	c.config, c.ends = config, leaf.NotAfter
	return nil
}

func readStore(setting, path string, secret bool) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", setting, err)
	case !info.Mode().IsRegular() || info.Size() > maxStoreFile:
		return nil, fmt.Errorf("%s %s is no file of at most %d bytes", setting, path, maxStoreFile)
	case secret && Exposed(info.Mode()):
		return nil, fmt.Errorf("%s %s holds a key, and others may read it: chmod 600 %s", setting, path, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return text, nil
}

// Exposed is whether a file with a secret in it may be read, or written, by more than its owner and group; writing is the
// owner's alone.
func Exposed(mode fs.FileMode) bool { return mode.Perm()&0o027 != 0 }
