package security

import "time"

// Policy is what one listener asks of who connects.
type Policy struct {
	Name       string // of the listener, as settings name it
	Protocol   Protocol
	Mechanisms []string          // sasl.enabled.mechanisms, of those that are spoken here
	Plain      map[string]string // the password of each user of PLAIN
	// Session is connections.max.reauth.ms: how long who a client is counts until it shows it again; 0: for ever.
	Session time.Duration
	// Penalty is connection.failed.authentication.delay.ms: how long a client that failed waits to be told so.
	Penalty time.Duration
	// Receive is sasl.server.max.receive.size: the largest request of a client that has yet to show who it is.
	Receive int
}

// The defaults of a policy. Kafka takes eight times as much from clients that it does not know yet, for mechanisms that are
// not spoken here.
const (
	DefaultPenalty = 100 * time.Millisecond
	DefaultReceive = 64 << 10
)
