package mirror

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// unmirrored is a partition of which nothing is here yet.
var unmirrored = PartitionRecord{From: core.Unknown, StopAt: core.Unknown, End: core.Unknown, LME: core.NoEpoch, GatedIn: core.NoEpoch}

// decidePartitions mirrors partitions that the source has added. They are on record before they exist here, and
// reported of once they do: only then does the source open them to writers (C11, F36). Partitions never go away, so a
// smaller count is an older answer.
func (s *State) decidePartitions(now core.Now, c ReportPartitions) (out outcome) {
	t := s.topics[c.Topic]
	if t == nil || int(c.Count) <= len(t.Partitions) || c.Count > maxPartitions || !followGrowth {
		return out
	}
	if p := t.phase(); p == Stopping || p == Stopped || t.Gone || !t.Created {
		return out
	}
	w := s.turn(now, t)
	w.happen(PartitionsAdded(c))
	w.grow()
	w.tell()
	return w.out
}

const maxPartitions = 10_000

func (w *turn) grow() {
	w.do(GrowLocalTopic{Topic: w.t.Topic, Count: int32(len(w.t.Partitions))})
	w.happen(StepDriven{Topic: w.t.Topic, Due: w.now.Mono + driveNs})
}

// passes says that what could not be made is asked for again. Mirrored topics are placed by the controller, so a bad
// assignment is one whose brokers are all down just now; to fail for it would take the topic from SYNC until an operator came.
func passes(code perr.Code) bool {
	return code.Retriable() || code == perr.InvalidReplicaAssignment
}

func (s *State) decideGrown(now core.Now, c LocalTopicGrown) (out outcome) {
	t := s.topics[c.Topic]
	if t == nil || !t.Growing || passes(c.Code) {
		return out
	}
	w := s.turn(now, t)
	if c.Code != perr.None && t.phase() == Stopping {
		return out // asked again: the stop goes on
	}
	if c.Code != perr.None {
		w.happen(TopicFailed{Topic: t.Topic, Text: fmt.Sprintf("topic %q cannot get %d partitions here: %s (%s)", t.Name, c.Count, c.Text, c.Code)})
		w.withdraw()
		return w.out
	}
	w.happen(PartitionsMade{Topic: c.Topic, Count: c.Count})
	w.fetch()
	return w.out
}

// decideUnknownPartition asks the source what it has: evidence is a hint, its metadata decides.
func (s *State) decideUnknownPartition(c ReportUnknownPartition) (out outcome) {
	t := s.topics[c.ID.Topic]
	if t == nil || int(c.ID.Index) < len(t.Partitions) || c.ID.Index >= maxPartitions {
		return out
	}
	out.Late = append(out.Late, RefreshSource{Mirror: s.name})
	return out
}

// add extends the topic. What is claimed of the others stands, but the topic is SYNC again only when the new ones are
// armed, too: T covers all partitions or nothing (C2, C4).
func (t *topic) add(count int32) {
	for int32(len(t.Partitions)) < count {
		t.Partitions = append(t.Partitions, unmirrored)
		t.live = append(t.live, newLive(1)...)
	}
	t.Growing = true
	if t.phase() == Sync && armAdded {
		t.Phase = int8(Arming)
	}
}
