package sim

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// twoSites is a world in which nothing happens by itself: a source and one destination.
func twoSites() *world {
	w := &world{options: Options{Topics: make([]TopicOptions, 1)}}
	w.oracle, w.net = newOracle(w), newNetwork(w)
	w.sched = stream(1, "scheduler")
	for i := range 2 {
		w.sites = append(w.sites, newSite(w, i, 1))
	}
	return w
}

func (w *world) wants(t *testing.T, id string) {
	t.Helper()
	switch {
	case w.violation == nil && id != "":
		t.Errorf("the oracle sees nothing wrong, and %s does not hold", id)
	case w.violation != nil && !strings.HasPrefix(w.violation.String(), id) || w.violation != nil && id == "":
		t.Errorf("the oracle says %q, want %q", w.violation, id)
	}
	w.violation = nil
}

// TestAnAckAfterAFailoverIsNoticed: I46, and what excuses it.
func TestAnAckAfterAFailoverIsNoticed(t *testing.T) {
	w := twoSites()
	id := core.PartitionID{Topic: topicID(0)}
	p := &process{site: w.sites[0]}
	o, d := w.oracle, w.sites[1]
	truth := o.truth(id)
	o.mirrorMoves(d, mirror.CommandIssued{Topic: id.Topic})
	o.mirrorMoves(d, mirror.TopicAdmitted{Topic: id.Topic, Epoch: 2})
	ack := ackTruth{base: 7, last: 9, acks: -1}
	o.ackedAfterMove(truth, &ack)
	w.wants(t, "")
	o.mirrorMoves(d, mirror.TopicStopping{Topic: id.Topic, Verb: int8(mirror.VerbFailover)})
	truth.sites[1].forked = 9
	gate := registration.GateApplied{Cluster: d.id, Topic: id.Topic, Epoch: 1}
	o.ledgerMoves(p, gate)
	o.ackedAfterMove(truth, &ack)
	w.wants(t, "") // its leader has not heard of the registration: the topic was ASYNC
	gate.Epoch, gate.Gate.Start = 2, 10
	o.ledgerMoves(p, gate)
	o.ackedAfterMove(truth, &ack)
	w.wants(t, "") // below the gate start
	gate.Gate.Start = 8
	o.ledgerMoves(p, gate)
	o.ackedAfterMove(truth, &ack)
	w.wants(t, "I46")
	o.ackedAfterMove(truth, &ackTruth{base: 7, last: 8, acks: -1})
	w.wants(t, "") // it was there when the copy opened
	o.ackedAfterMove(truth, &ackTruth{base: 7, last: 9, acks: 1})
	w.wants(t, "")
	o.ledgerMoves(p, registration.MirrorReleased{Cluster: d.id, Whole: true})
	o.ackedAfterMove(truth, &ack)
	w.wants(t, "") // two operators on two sides: C8 says so
}

// TestAnOpeningElsewhereIsNoticed: I47.
func TestAnOpeningElsewhereIsNoticed(t *testing.T) {
	w := twoSites()
	id := core.PartitionID{Topic: topicID(0)}
	w.oracle.opensAt(w.sites[1], id, 10)
	w.wants(t, "") // a stop: nobody said where the source ends
	w.oracle.move(1, id.Topic).ends[0] = []core.Offset{12, 11}
	w.oracle.opensAt(w.sites[1], id, 11)
	w.wants(t, "")
	w.oracle.opensAt(w.sites[1], id, 10)
	w.wants(t, "I47")
}
