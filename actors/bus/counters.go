package bus

import "sync/atomic"

// counters is what happened on the bus since the process started; Counts is its readable form.
type counters struct {
	connects, disconnects, slowConsumer, linkErrors   atomic.Int64
	published, publishLost, oversized, received       atomic.Int64
	malformed, foreign                                atomic.Int64
	floorsSent, floorsReceived                        atomic.Int64
	evidenceSent, evidenceReceived                    atomic.Int64
	requests, requestRetries, requestAnswers, expired atomic.Int64
}

// Counts is a snapshot of the bus's counters, all since process start.
type Counts struct {
	Connects     int64 // links that came up, first connects included
	Disconnects  int64
	SlowConsumer int64 // messages dropped here because a handler was too slow
	LinkErrors   int64
	Published    int64
	PublishLost  int64 // not sent: the link was down
	Oversized    int64 // not sent: above MaxPayload
	Received     int64
	Malformed    int64 // received, not readable as a message of ours; dropped
	Foreign      int64 // received, readable, addressed to somebody else; dropped

	FloorsSent       int64 // partition floors, repeats included
	FloorsReceived   int64
	EvidenceSent     int64 // partition evidence
	EvidenceReceived int64

	Requests       int64 // control commands begun
	RequestRetries int64
	RequestAnswers int64
	RequestExpired int64 // control commands whose deadline passed
}

// Counts may be called from any goroutine.
func (b *Bus) Counts() Counts {
	c := &b.count
	return Counts{
		Connects: c.connects.Load(), Disconnects: c.disconnects.Load(),
		SlowConsumer: c.slowConsumer.Load(), LinkErrors: c.linkErrors.Load(),
		Published: c.published.Load(), PublishLost: c.publishLost.Load(),
		Oversized: c.oversized.Load(), Received: c.received.Load(),
		Malformed: c.malformed.Load(), Foreign: c.foreign.Load(),
		FloorsSent: c.floorsSent.Load(), FloorsReceived: c.floorsReceived.Load(),
		EvidenceSent: c.evidenceSent.Load(), EvidenceReceived: c.evidenceReceived.Load(),
		Requests: c.requests.Load(), RequestRetries: c.requestRetries.Load(),
		RequestAnswers: c.requestAnswers.Load(), RequestExpired: c.expired.Load(),
	}
}
