package access

import (
	"bytes"
	"fmt"
	"io"
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

// Size is how many bytes a key of the mechanism has; 0 for a mechanism that does not exist.
func (m Mechanism) Size() int {
	switch m {
	case ScramSHA256:
		return 32
	case ScramSHA512:
		return 64
	default:
		return 0
	}
}

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
// one, but not the password. It prints as nothing of that.
type Credential struct {
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
	Iterations int32 // 0: there is none
}

// Equal reports whether two credentials are the same.
func (c Credential) Equal(o Credential) bool {
	return c.Iterations == o.Iterations && bytes.Equal(c.Salt, o.Salt) && bytes.Equal(c.StoredKey, o.StoredKey) && bytes.Equal(c.ServerKey, o.ServerKey)
}

// Format implements fmt.Formatter for every verb, so that keys get into no log by accident.
func (c Credential) Format(f fmt.State, _ rune) {
	io.WriteString(f, c.hidden())
}

// MarshalText implements encoding.TextMarshaler, for loggers that write JSON.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.hidden()), nil }

func (c Credential) hidden() string { return fmt.Sprintf("[hidden, %d iterations]", c.Iterations) }
