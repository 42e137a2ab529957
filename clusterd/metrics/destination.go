package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

// fresh is how old the newest answer of a source may be for what it says to be called known: the claim lease.
// An idle fetch is answered at least once a second.
const fresh = 10 * time.Second

// destination is what the mirrors of this cluster know.
type destination struct{ Process }

var (
	lagOffsets = describe(prefix+"lag_offsets", "Source high watermark less the local log end.", "mirror", "topic", "partition")
	lagBytes   = describe(prefix+"lag_bytes", "Estimate of what the missing records weigh.", "mirror", "topic", "partition")
	lagSeconds = describe(prefix+"lag_seconds", "How long the oldest missing record has been known to be missing; 0 while none is.", "mirror", "topic", "partition")
	desired    = describe(prefix+"topic_desired_sync", "1 when the operator wants SYNC, 0 for ASYNC.", "mirror", "topic")
	effective  = describe(prefix+"topic_effective_sync", "1 while the source's acks wait for this mirror, 0 for ASYNC.", "mirror", "topic")
	rpo        = describe(prefix+"rpo_seconds", "Age of the instant up to which every acks=all record is known to be here: 0 while SYNC is confirmed. Absent where it never was.", "mirror", "topic")
	topics     = describe(prefix+"topics", "Topics of a mirror by phase.", "mirror", "phase")
	partitions = describe(prefix+"partitions", "Partitions of a mirror by state.", "mirror", "state")
	failing    = describe(prefix+"sync_partitions_failing", "Partitions whose fetches fail. Absent while that of any other partition is not known.", "mirror", "topic")
	rejected   = describe(prefix+"sync_registration_rejected_total", "Times the sync mirroring of a topic was turned down: refused registrations, and claims that the source ended.", "mirror", "reason")
	failures   = describe(prefix+"sync_partition_fetch_failures_total", "Fetches of a partition that failed. INVALID_SYNC_REGISTRATION and PROPAGATING refuse the gate and not the data.", "mirror", "topic", "partition", "reason")
	lastDone   = describe(prefix+"task_last_success_age_seconds", "How long ago each task of a mirror last succeeded, for the partition it is longest ago; +Inf: not since the process started.", "mirror", "task")
	unanswered = describe(prefix+"described", "1 when the mirror answered this scrape, 0 when it was too busy, so that its other metrics are absent.", "mirror")
)

// Describe implements prometheus.Collector.
func (destination) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lagOffsets, lagBytes, lagSeconds, desired, effective, rpo, topics, partitions, failing, rejected, failures, lastDone, unanswered} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (d destination) Collect(to chan<- prometheus.Metric) {
	single := d.single()
	var failed map[mirrorPartition]map[string]int64
	if d.Fetchers != nil && single {
		failed = d.failures()
	}
	for _, name := range d.Cluster.Mirrors() {
		m, ok := d.mirror(name)
		if !ok {
			gauge(to, unanswered, 0, string(name))
			continue
		}
		if !m.Exists {
			continue
		}
		gauge(to, unanswered, 1, string(name))
		for reason, n := range d.Cluster.MirrorRejections(name) {
			counter(to, rejected, n, string(name), reason)
		}
		d.collect(to, m, single)
		d.tasks(to, m)
		for _, t := range m.Topics {
			for i := range t.Partitions {
				for reason, n := range failed[mirrorPartition{name, core.PartitionID{Topic: t.Topic, Index: int32(i)}}] {
					counter(to, failures, n, string(name), t.Name, number(int32(i)), reason)
				}
			}
			if single {
				d.unfailed(to, name, t, failed)
			}
		}
	}
}

func (d destination) collect(to chan<- prometheus.Metric, m mirror.Description, single bool) {
	name := string(m.Mirror)
	phases, states := map[string]int{}, map[string]int{}
	for phase := mirror.Async; phase <= mirror.Orphaned; phase++ {
		phases[phase.String()] = 0
	}
	for _, t := range m.Topics {
		phases[t.Phase.String()]++
		if fetched(t) { // nothing is wanted of a stopped one
			gauge(to, desired, float64(t.Desired), name, t.Name)
			gauge(to, effective, float64(t.Effective), name, t.Name)
		}
		if age, known := exposure(t, d.Cluster.Now()); known {
			gauge(to, rpo, age.Seconds(), name, t.Name)
		}
		down, known := 0, true
		for _, p := range t.Partitions {
			states[p.State]++
			lag, measured := d.lag(m.Mirror, t, p)
			switch {
			case p.Failing:
				down++
			case !measured:
				known = false
			}
			if measured && single {
				labels := []string{name, t.Name, number(p.Partition)}
				gauge(to, lagOffsets, float64(lag.Offsets), labels...)
				gauge(to, lagBytes, float64(lag.Bytes), labels...)
				gauge(to, lagSeconds, time.Duration(lag.BehindNs).Seconds(), labels...)
			}
		}
		if known && fetched(t) {
			gauge(to, failing, float64(down), name, t.Name)
		}
	}
	for phase, n := range phases {
		gauge(to, topics, float64(n), name, phase)
	}
	for state, n := range states {
		gauge(to, partitions, float64(n), name, state)
	}
}

// fetched reports whether the topic follows a source now.
func fetched(t mirror.TopicDescription) bool {
	return t.Phase != mirror.Stopping && t.Phase != mirror.Stopped
}

// lag is false when the source was not heard of the partition lately: what it said before says nothing of now.
func (d destination) lag(name core.MirrorName, t mirror.TopicDescription, p mirror.PartitionDescription) (broker.MirrorLag, bool) {
	lag, ok := d.Cluster.MirrorLag(name, core.PartitionID{Topic: t.Topic, Index: p.Partition})
	return lag, ok && fetched(t) && lag.AgeNs <= fresh.Nanoseconds()
}

// exposure is how old the newest instant is up to which nothing that was acknowledged can be missing.
func exposure(t mirror.TopicDescription, now core.Now) (time.Duration, bool) {
	switch {
	case t.Phase == mirror.Sync && !t.Partial && !t.Unconfirmed:
		return 0, true
	case t.T.Clock == 0 || !fetched(t):
		return 0, false
	default:
		return time.Duration(max(0, now.Wall-t.T.Clock)) * time.Millisecond, true
	}
}

// tasks are what a mirror does again and again.
func (d destination) tasks(to chan<- prometheus.Metric, m mirror.Description) {
	name, any := string(m.Mirror), false
	fetch, evidence, gated := time.Duration(0), time.Duration(0), false
	now := d.Cluster.Now()
	for _, t := range m.Topics {
		if !fetched(t) {
			continue
		}
		any = true
		for i := range t.Partitions {
			lag, ok := d.Cluster.MirrorLag(m.Mirror, core.PartitionID{Topic: t.Topic, Index: int32(i)})
			if !ok {
				lag.AgeNs = math.MaxInt64
			}
			fetch = max(fetch, time.Duration(lag.AgeNs))
		}
		if t.Phase == mirror.Sync {
			gated = true
			age := time.Duration(math.MaxInt64)
			if t.ContactWall != 0 {
				age = time.Duration(now.Wall-t.ContactWall) * time.Millisecond
			}
			evidence = max(evidence, age)
		}
	}
	if !any {
		return
	}
	gauge(to, lastDone, seconds(fetch), name, "fetch")
	if gated {
		gauge(to, lastDone, seconds(evidence), name, "evidence")
	}
	if d.Fetchers != nil {
		age, ok := d.Fetchers.MetadataRead(m.Mirror)
		if !ok {
			age = math.MaxInt64
		}
		gauge(to, lastDone, seconds(age), name, "metadata")
	}
}

func seconds(d time.Duration) float64 {
	if d == math.MaxInt64 {
		return math.Inf(1)
	}
	return max(0, d.Seconds())
}

type mirrorPartition struct {
	mirror core.MirrorName
	id     core.PartitionID
}

// The KIP's reasons; every other failure goes by the name of its code.
const (
	reasonInvalid     = "INVALID_SYNC_REGISTRATION"
	reasonPropagating = "PROPAGATING"
)

func (d destination) failures() map[mirrorPartition]map[string]int64 {
	all := map[mirrorPartition]map[string]int64{}
	for f, n := range d.Fetchers.Failures() {
		key := mirrorPartition{f.Mirror, f.ID}
		if all[key] == nil {
			all[key] = map[string]int64{}
		}
		reason := f.Code.Name()
		if f.Code == perr.MirrorRegistrationPropagating {
			reason = reasonPropagating
		}
		all[key][reason] += n
	}
	return all
}

// unfailed adds the KIP's reasons that a partition never met: a counter that appears with its first failure hides
// that failure from every rate.
func (d destination) unfailed(to chan<- prometheus.Metric, name core.MirrorName, t mirror.TopicDescription, failed map[mirrorPartition]map[string]int64) {
	for i := range t.Partitions {
		met := failed[mirrorPartition{name, core.PartitionID{Topic: t.Topic, Index: int32(i)}}]
		for _, reason := range []string{reasonInvalid, reasonPropagating} {
			if _, counted := met[reason]; !counted && d.Fetchers != nil {
				counter(to, failures, 0, string(name), t.Name, number(int32(i)), reason)
			}
		}
	}
}

// mirror asks one mirror; a busy one is left out of this scrape.
func (d destination) mirror(name core.MirrorName) (mirror.Description, bool) {
	answer := make(chan any, 1)
	d.Cluster.Mirror(name, func(ref core.RequestID) mirror.Command { return mirror.Describe{Ref: ref} }, func(a any) { answer <- a })
	select {
	case a := <-answer:
		described, ok := a.(mirror.Described)
		return described.Mirror, ok
	case <-time.After(time.Second):
		return mirror.Description{}, false
	}
}
