package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
)

// source is what this cluster does for mirrors of it.
type source struct{ Process }

var (
	acks       = describe(prefix+"acks_total", "Batches acknowledged, by the mode of the ledger entry that released them.", "mode")
	wait       = describe(prefix+"sync_replication_latency_ms", "From the append of an acks=all batch until every in-sync replica of the mirror has it, in ms. A batch that was given up counts with the time it waited.", "mirror", "topic")
	stages     = describe(prefix+"ack_stage_ms", "What acks=all batches wait for, in ms since the append at the leader: leader, isr, mirrors, total. At a destination: destination_append from the answer to our leader's disk, destination_isr from there to the floor.", "stage")
	registered = describe(prefix+"registered_topics", "Topics whose acks wait for a mirror.", "mirror")
	released   = describe(prefix+"released_topics", "Topics that the operator released and that have not returned.", "mirror")
	leaving    = describe(prefix+"leaving_topics", "Topics that the operator released after the lease, and whose acks still wait for the mirror.", "mirror")
	heldBy     = describe(prefix+"gate_held_by", "Partitions whose high watermark a mirror holds below the local ISR now.", "mirror")
	underMin   = describe(prefix+"gate_under_min_isr", "Partitions that a mirror freezes because fewer of its replicas are in sync than it needs.", "mirror")
	unheard    = describe(prefix+"gate_unknown", "Partitions that wait for a mirror's first report since their leader, or the registration, began.", "mirror")
	weakAcks   = describe(prefix+"unprotected_acks_total", "Batches acknowledged to acks=0 and acks=1 producers on topics that a mirror gates: no mirror need have them.")
)

// Describe implements prometheus.Collector.
func (source) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{acks, wait, stages, registered, released, leaving, heldBy, underMin, unheard, weakAcks} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s source) Collect(to chan<- prometheus.Metric) {
	for _, m := range broker.AckModes() {
		counter(to, acks, s.Cluster.Acks(m), m.String())
	}
	counter(to, weakAcks, s.Cluster.Acks(broker.AckUnprotected))
	for _, w := range s.Cluster.AckWaits() {
		if name, known := s.topic(w.Topic); known {
			distribution(to, wait, w.Snapshot, string(w.Mirror), name)
		}
	}
	for _, stage := range broker.AckStages() {
		distribution(to, stages, s.Cluster.AckStage(stage), stage.String())
	}
	if s.Fetchers != nil {
		distribution(to, stages, s.Fetchers.Appends(), "destination_append")
	}
	s.gates(to)
}

func (s source) gates(to chan<- prometheus.Metric) {
	counts := map[*prometheus.Desc]map[string]int{registered: {}, released: {}, leaving: {}, heldBy: {}, underMin: {}, unheard: {}}
	for key, entry := range s.Cluster.Registrations().Entries {
		name := string(key.Mirror.Mirror)
		for _, values := range counts {
			values[name] += 0
		}
		if entry.Epoch != 0 {
			counts[registered][name]++
		}
		if entry.Released != 0 {
			counts[released][name]++
		}
		if entry.Leaving {
			counts[leaving][name]++
		}
	}
	for _, b := range s.Cluster.Brokers() {
		for _, r := range b.Replicas() {
			// What another cluster has taken over waits for nobody: its mirror reports no more, and that is no alarm.
			if r.View().IsLeader && !s.Cluster.Newest().Sync[r.ID().Topic].Fence.Moved {
				countGates(counts, r.Gates())
			}
		}
	}
	for d, values := range counts {
		each(to, d, values)
	}
}

func countGates(counts map[*prometheus.Desc]map[string]int, p highwater.PublishGates) {
	for _, g := range p.Gates {
		name := string(g.Key.Mirror)
		if g.HoldsSince != 0 {
			counts[heldBy][name]++
		}
		if g.UnderMin {
			counts[underMin][name]++
		}
		if g.Floor == core.Unknown {
			counts[unheard][name]++
		}
	}
}
