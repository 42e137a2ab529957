package front

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/clusterd/security"
)

// admissions counts who came to one listener, of all brokers, as Kafka's socket server counts them.
type admissions struct {
	known, failed           atomic.Int64
	knownAgain, failedAgain atomic.Int64
	expired                 atomic.Int64
	certificates            atomic.Pointer[security.Certificates]
}

// Admissions is who came to one listener since the process started.
type Admissions struct {
	Listener                string
	Known, Failed           int64     // connections that did and did not show who they are; one that need not counts as known
	KnownAgain, FailedAgain int64     // sessions that were renewed, and those that were not
	Expired                 int64     // connections that ended because their session had
	CertificateEnds         time.Time // zero: the listener shows none
}

// Admissions lists the listeners that serve or served, by name.
func (t *Traffic) Admissions() (list []Admissions) {
	t.listeners.Range(func(name, counts any) bool {
		a := counts.(*admissions)
		out := Admissions{Listener: name.(string), Known: a.known.Load(), Failed: a.failed.Load(), KnownAgain: a.knownAgain.Load(),
			FailedAgain: a.failedAgain.Load(), Expired: a.expired.Load()}
		if c := a.certificates.Load(); c != nil {
			out.CertificateEnds = c.Ends()
		}
		list = append(list, out)
		return true
	})
	slices.SortFunc(list, func(a, b Admissions) int { return cmp.Compare(a.Listener, b.Listener) })
	return list
}

// admitted are the counts of a listener.
func (t *Traffic) admitted(at *Listener) *admissions {
	if t == nil {
		return &admissions{}
	}
	a := entry[admissions](&t.listeners, at.Name)
	a.certificates.Store(at.Certificates)
	return a
}
