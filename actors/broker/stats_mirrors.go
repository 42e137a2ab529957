package broker

import (
	"maps"
	"sync"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

// Why a destination's sync mirroring of a topic was turned down; the words are the KIP's where it has one.
const (
	RejectedReleased        = "RELEASED_FRESH_PROMOTION_REQUIRED" // 954, or an explicit release of a standing registration
	RejectedFailing         = "ALL_PARTITIONS_FAILING"
	RejectedVersionMismatch = "VERSION_MISMATCH"
)

// MirrorLag is how far one mirrored partition is behind its source, as of the newest answered fetch.
type MirrorLag struct {
	Offsets int64 // source HW less our LEO
	Bytes   int64 // estimate of what those weigh
	// BehindNs is since when we have known of the oldest record that is not here, in ns; 0: nothing is missing. It
	// counts from our own first sight of it, so neither record timestamps nor two machines' clocks are in it.
	BehindNs int64
	AgeNs    int64 // of the answer
}

// MirrorRejections counts, by reason, how often the sync mirroring of a topic was turned down since the process
// started. The reasons of the KIP are always there.
func (c *Cluster) MirrorRejections(name core.MirrorName) map[string]int64 {
	s := c.stats.mirror(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rejected)
}

// MirrorLag is false while no fetch of the partition was answered since the process started.
func (c *Cluster) MirrorLag(name core.MirrorName, id core.PartitionID) (MirrorLag, bool) {
	s := c.stats.mirror(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tracks[id]
	if t == nil {
		return MirrorLag{}, false
	}
	now := c.Now().Mono
	lag := MirrorLag{Offsets: t.offsets, Bytes: t.bytes, AgeNs: now - t.at}
	if len(t.ahead) > 0 {
		lag.BehindNs = now - t.ahead[0].at
	}
	return lag, true
}

// mirrorStats is written by one mirror's actor, at most once per report, and read by scrapes.
type mirrorStats struct {
	mu       sync.Mutex
	rejected map[string]int64
	tracks   map[core.PartitionID]*track
}

func (s *stats) mirror(name core.MirrorName) *mirrorStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mirrors == nil {
		s.mirrors = map[core.MirrorName]*mirrorStats{}
	}
	if s.mirrors[name] == nil {
		s.mirrors[name] = &mirrorStats{tracks: map[core.PartitionID]*track{},
			rejected: map[string]int64{RejectedReleased: 0, RejectedFailing: 0, RejectedVersionMismatch: 0}}
	}
	return s.mirrors[name]
}

// observeMirror is who looks at the events of one mirror: warnings and counters.
func (c *Cluster) observeMirror(name core.MirrorName) func(mirror.Event) {
	counts := c.stats.mirror(name)
	return func(ev mirror.Event) {
		c.warnOfMirror(name, ev)
		counts.observe(ev)
	}
}

func (s *mirrorStats) observe(ev mirror.Event) {
	switch e := ev.(type) {
	case mirror.ProgressReported:
		s.mu.Lock()
		defer s.mu.Unlock()
		id := e.Report.ID
		if s.tracks[id] == nil {
			s.tracks[id] = &track{}
		}
		s.tracks[id].note(e)
	case mirror.RegisterRefused:
		s.reject(rejection(perr.Code(e.Code)))
	case mirror.TopicUnclaimed:
		if reason := unclaimed(e); reason != "" {
			s.reject(reason)
		}
	default: // says nothing of lag or refusals
	}
}

func (s *mirrorStats) reject(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected[reason]++
}

func rejection(code perr.Code) string {
	switch code {
	case perr.MirrorSyncReleasedRequiresFreshPromotion:
		return RejectedReleased
	case perr.MirrorSyncVersionMismatch:
		return RejectedVersionMismatch
	default:
		return code.Name()
	}
}

// unclaimed is why the source, not an operator of ours, ended a claim.
func unclaimed(e mirror.TopicUnclaimed) string {
	switch {
	case e.Released():
		return RejectedReleased
	case e.Failing():
		return RejectedFailing
	default:
		return ""
	}
}

// track is one partition's way behind its source.
type track struct {
	at      int64 // mono ns of the newest answer
	offsets int64
	bytes   int64
	ahead   []seen // source HWs above our LEO, ascending, with when each was first seen
}

type seen struct {
	hw core.Offset
	at int64
}

// aheadMost bounds a track; beyond it every second sighting goes, and never the oldest.
const aheadMost = 256

func (t *track) note(e mirror.ProgressReported) {
	r := e.Report
	t.at, t.offsets, t.bytes = e.At, int64(max(0, r.SourceHW-r.LEO)), r.LagBytes
	for len(t.ahead) > 0 && t.ahead[len(t.ahead)-1].hw > r.SourceHW {
		t.ahead = t.ahead[:len(t.ahead)-1] // the source lost its end
	}
	if n := len(t.ahead); r.SourceHW > r.LEO && (n == 0 || t.ahead[n-1].hw < r.SourceHW) {
		t.ahead = append(t.ahead, seen{r.SourceHW, e.At})
	}
	reached := 0
	for reached < len(t.ahead) && t.ahead[reached].hw <= r.LEO {
		reached++
	}
	t.ahead = t.ahead[reached:]
	if len(t.ahead) > aheadMost {
		kept := make([]seen, 0, aheadMost)
		for i := 0; i < len(t.ahead); i += 2 {
			kept = append(kept, t.ahead[i])
		}
		t.ahead = kept
	}
}
