package fetcher

import (
	"sync"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/histogram"
	"lockstep/protocol/perr"
)

// health is what operators are told of fetchers beyond the totals. Only failures and metadata come here,
// so its lock is nowhere near the data.
type health struct {
	appends histogram.Histogram

	mu       sync.Mutex
	failures map[Failing]int64
	metadata map[core.MirrorName]time.Time
}

// Failing is one way in which fetches of one partition fail.
type Failing struct {
	Mirror core.MirrorName
	ID     core.PartitionID
	Code   perr.Code
}

// Failures counts failed fetches since the process started: answers with an error, and requests without one.
// What was never seen is not in it.
func (f *Fetchers) Failures() map[Failing]int64 {
	f.health.mu.Lock()
	defer f.health.mu.Unlock()
	all := make(map[Failing]int64, len(f.health.failures))
	for which, n := range f.health.failures {
		all[which] = n
	}
	return all
}

// MetadataRead is how long ago a mirror's source was last asked for its metadata with success; false: not
// since the process started.
func (f *Fetchers) MetadataRead(name core.MirrorName) (time.Duration, bool) {
	f.health.mu.Lock()
	defer f.health.mu.Unlock()
	at, ok := f.health.metadata[name]
	return time.Since(at), ok
}

// Appends is how long fetched batches took to be on our leader's disk.
func (f *Fetchers) Appends() histogram.Snapshot { return f.health.appends.Snapshot() }

func (h *health) failed(which Failing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures == nil {
		h.failures = map[Failing]int64{}
	}
	h.failures[which]++
}

func (h *health) readMetadata(name core.MirrorName, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.metadata == nil {
		h.metadata = map[core.MirrorName]time.Time{}
	}
	h.metadata[name] = now
}
