// Package security is how a listener learns who its clients are: the protocols of Kafka's listeners, the server's side of
// SASL mechanisms, and the users and certificates that an operator gave. It knows nothing of requests and connections.
package security

// Protocol is what a listener speaks, by Kafka's names (security.protocol).
type Protocol string

// The protocols.
const (
	Plaintext     Protocol = "PLAINTEXT"
	SSL           Protocol = "SSL"
	SASLPlaintext Protocol = "SASL_PLAINTEXT"
	SASLSSL       Protocol = "SASL_SSL"
)

// Protocols are those that there are.
var Protocols = []Protocol{Plaintext, SSL, SASLPlaintext, SASLSSL}

// SASL is whether a client has to name itself before anything else.
func (p Protocol) SASL() bool { return p == SASLPlaintext || p == SASLSSL }

// TLS is whether nobody on the way can read along.
func (p Protocol) TLS() bool { return p == SSL || p == SASLSSL }
