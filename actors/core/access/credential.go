package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"io"

	"lockstep/actors/core"
)

// Mechanism is a SCRAM mechanism, by Kafka's code.
type Mechanism int8

// The mechanisms (KIP-554).
const (
	ScramSHA256 Mechanism = 1
	ScramSHA512 Mechanism = 2
)

// Mechanisms are all of them, the weaker first.
func Mechanisms() []Mechanism { return []Mechanism{ScramSHA256, ScramSHA512} }

// String is the name that clients negotiate.
func (m Mechanism) String() string {
	switch m {
	case ScramSHA256:
		return "SCRAM-SHA-256"
	case ScramSHA512:
		return "SCRAM-SHA-512"
	default:
		return fmt.Sprintf("mechanism %d", int8(m))
	}
}

// Known reports whether there is such a mechanism.
func (m Mechanism) Known() bool { return m == ScramSHA256 || m == ScramSHA512 }

// MinIterations and MaxIterations bound the iterations of a credential: fewer are too easy to guess, and clients refuse to
// make more (Kafka's ScramMechanism and ScramFormatter).
const (
	MinIterations = 4096
	MaxIterations = 16384
)

// UserMechanism names a credential: a user has one per mechanism at most.
type UserMechanism struct {
	User      string
	Mechanism Mechanism
}

// Credential is what a cluster keeps of a password (RFC 5802): enough to check a client, and to be taken for the cluster by
// one, but not the password.
type Credential struct {
	Salt       core.Secret
	StoredKey  core.Secret
	ServerKey  core.Secret
	Iterations int32 // 0: there is none
}

// Equal reports whether two credentials are the same.
func (c Credential) Equal(o Credential) bool {
	return c.Iterations == o.Iterations && c.Salt.Equal(o.Salt) && c.StoredKey.Equal(o.StoredKey) && c.ServerKey.Equal(o.ServerKey)
}

// Salted makes a credential of a password that the client has salted already, as Kafka's tools do. m must be one of
// Mechanisms.
func (m Mechanism) Salted(password, salt []byte, iterations int32) Credential {
	stored := m.hash()
	stored.Write(m.sign(password, "Client Key"))
	return Credential{Salt: salt, StoredKey: stored.Sum(nil), ServerKey: m.sign(password, "Server Key"), Iterations: iterations}
}

func (m Mechanism) sign(key []byte, text string) []byte {
	mac := hmac.New(m.hash, key)
	io.WriteString(mac, text)
	return mac.Sum(nil)
}

func (m Mechanism) hash() hash.Hash {
	switch m {
	case ScramSHA256:
		return sha256.New()
	case ScramSHA512:
		return sha512.New()
	default:
		panic("access: no hash of " + m.String())
	}
}
