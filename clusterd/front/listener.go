package front

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/clusterd/security"
)

// Listener is one of the ways into a broker: what it asks of who connects, and what it tells of the other brokers. The zero
// value asks nobody and tells what the image says.
type Listener struct {
	security.Policy
	// Addresses are those of all brokers for clients of this listener; nil: those of the image, which are the first
	// listener's.
	Addresses map[core.ReplicaID]Address

	counts *admissions // given by Serve
}

// Address is where clients find a broker.
type Address struct {
	Host string
	Port int32
}

// told is the address of a broker for who asks here: a client that came by one listener may reach no other (compat-H10).
func (l *Listener) told(b image.Broker) (host string, port int32) {
	if l != nil {
		if a, known := l.Addresses[b.ID]; known {
			return a.Host, a.Port
		}
	}
	return b.Host, b.Port
}
