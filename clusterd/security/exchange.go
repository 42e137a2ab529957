package security

import "errors"

// The mechanisms that are spoken here, by their names in SASL.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// Mechanisms are those that a listener may enable.
var Mechanisms = []string{Plain, ScramSHA256, ScramSHA512}

// Credential is what is known of a user of SCRAM. The password is not, nor can it be had from this.
type Credential struct {
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
	Iterations int
}

// Users are those that may name themselves to a listener.
type Users struct {
	Plain map[string]string // the password of each user of PLAIN
	// Scram finds the credential of a user for one of the SCRAM mechanisms.
	Scram func(mechanism, user string) (Credential, bool)
}

// Exchange is the server's side of one authentication. It is used by one goroutine.
type Exchange interface {
	// Next takes a token of the client and returns what to answer. done: the client has shown that it is User. After an error
	// the exchange is over; what went wrong is for the log, and only ErrNotAuthenticated and what wraps it is for the client.
	Next(token []byte) (answer []byte, done bool, err error)
	// User is who the client says to be, proven or not.
	User() string
}

// ErrNotAuthenticated is all that a client is told: whether its user exists, or its password is another, is nobody's to know.
var ErrNotAuthenticated = errors.New("the user is unknown or its password is another")

// NewExchange begins an authentication, nil for a mechanism that is not spoken here.
func NewExchange(mechanism string, users Users) Exchange {
	switch mechanism {
	case Plain:
		return &plainServer{users: users.Plain}
	case ScramSHA256, ScramSHA512:
		return &scramServer{mechanism: mechanism, users: users.Scram}
	default:
		return nil
	}
}
