package security

import "time"

// Policy is what one listener asks of who connects.
type Policy struct {
	Name       string // of the listener, as settings name it
	Protocol   Protocol
	Mechanisms []string          // sasl.enabled.mechanisms, of those that are spoken here
	Plain      map[string]string // the password of each user of PLAIN
	// Sessions are connections.max.reauth.ms of each mechanism: how long who a client is counts until it shows it again; none
	// or 0: for ever.
	Sessions map[string]time.Duration
	// Penalty is connection.failed.authentication.delay.ms: how long a client that failed waits to be told so.
	Penalty time.Duration
	// Certificates are those of a protocol with TLS.
	Certificates *Certificates
	Names        Mapping // ssl.principal.mapping.rules
	// Receive is sasl.server.max.receive.size: the largest request of a client that has yet to show who it is.
	Receive int
}

// The defaults of a policy. Kafka takes eight times as much from clients that it does not know yet, for mechanisms that are
// not spoken here.
const (
	DefaultPenalty = 100 * time.Millisecond
	DefaultReceive = 64 << 10
)
