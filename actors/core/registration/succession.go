package registration

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// Standing says whether this cluster takes the writes of a topic.
type Standing int8

const (
	TakesWrites Standing = 0
	Fenced      Standing = 1 // a mirror is taking over: refused until that is done, or over (C8)
	Superseded  Standing = 2 // a mirror has taken over: refused until an operator forces a release of it
)

// String is the word people read.
func (s Standing) String() string {
	switch s {
	case TakesWrites:
		return "PRIMARY"
	case Fenced:
		return "FENCED"
	case Superseded:
		return "SUPERSEDED"
	default:
		return "UNKNOWN"
	}
}

func (r SuccessionRecord) standing() Standing { return Standing(r.Standing) }

// by is the successor, or the one that is taking over.
func (r SuccessionRecord) by() core.MirrorKey {
	return core.MirrorKey{Cluster: r.Cluster, Mirror: r.Mirror}
}

func (r SuccessionRecord) is(standing Standing, by core.MirrorKey) bool {
	return r.standing() == standing && r.by() == by
}

// refusal is what a produce meets here. A move keeps clients asking until they are pointed at the successor, so that
// none gives a record up; a failover that is heard of late tells the clients left behind, at once and for good (F18).
func (r SuccessionRecord) refusal(topic core.TopicID) image.Fence {
	name := r.Name
	if name == "" {
		name = topic.String()
	}
	f := image.Fence{Number: r.Number, Code: perr.NotLeaderOrFollower, Moved: r.standing() == Superseded}
	switch {
	case r.standing() == TakesWrites:
		return image.Fence{}
	case r.standing() == Fenced:
		f.Text = fmt.Sprintf("topic %q is being moved to cluster %s (era %d): ask again", name, r.Cluster, r.Next)
	case r.Planned:
		f.Text = fmt.Sprintf("topic %q was moved to cluster %s (era %d): connect there", name, r.Cluster, r.Next)
	default:
		f.Code = perr.ReadOnlyTopic
		f.Text = fmt.Sprintf("cluster %s has taken over topic %q (era %d) by a failover: write there", r.Cluster, name, r.Next)
	}
	return f
}

// draining is what the leaders of a fenced topic have reported since this process started.
type draining struct {
	deadline int64         // mono ns: the fence is lifted then; 0: none
	reports  []FenceReport // by partition; never mutated in place
}

// FenceReport is what the leader of a partition says of the fence it applies.
type FenceReport struct {
	Partition   int32
	LeaderEpoch core.LeaderEpoch
	LEO         core.Offset // final in LeaderEpoch
	Floor       core.Offset // of the mirror that takes over, in LeaderEpoch; Unknown: none
}

func (d draining) report(partition int32) (FenceReport, bool) {
	for _, r := range d.reports {
		if r.Partition == partition {
			return r, true
		}
	}
	return FenceReport{}, false
}

func (d draining) with(r FenceReport) draining {
	reports := slices.DeleteFunc(slices.Clone(d.reports), func(old FenceReport) bool { return old.Partition == r.Partition })
	d.reports = append(reports, r)
	slices.SortFunc(d.reports, func(a, b FenceReport) int { return int(a.Partition) - int(b.Partition) })
	return d
}

func (s *State) applySuccession(ev Event) bool {
	switch ev := ev.(type) {
	case TopicFenced:
		r := s.successions[ev.Topic]
		r.Topic, r.Name, r.Standing, r.Number, r.Text = ev.Topic, ev.Name, int8(Fenced), ev.Number, ""
		r.Cluster, r.Mirror, r.Next, r.Planned = ev.Cluster, ev.Mirror, ev.Era, true
		r.Generation, r.Ends = ev.Generation, nil
		s.successions[ev.Topic] = r
		s.fences = max(s.fences, ev.Number)
		delete(s.draining, ev.Topic)
		s.numberCommand(key(ev.Cluster, ev.Mirror, ev.Topic), ev.Generation, ev.Content)
	case FenceLifted:
		if r := s.successions[ev.Topic]; r.Number == ev.Number {
			s.lift(ev.Topic, r.by(), ev.Text)
		}
	case TopicSuperseded:
		r := s.successions[ev.Topic]
		if r.Number != ev.Number {
			delete(s.draining, ev.Topic)
		}
		r.Topic, r.Name, r.Standing, r.Number, r.Text = ev.Topic, ev.Name, int8(Superseded), ev.Number, ""
		r.Cluster, r.Mirror, r.Next, r.Planned = ev.Cluster, ev.Mirror, ev.Era, ev.Planned
		r.Generation, r.Ends = ev.Generation, ev.Ends
		s.successions[ev.Topic] = r
		s.fences = max(s.fences, ev.Number)
		s.numberCommand(key(ev.Cluster, ev.Mirror, ev.Topic), ev.Generation, ev.Content)
	case SuccessionEnded:
		r := s.successions[ev.Topic]
		s.successions[ev.Topic] = SuccessionRecord{Topic: ev.Topic, Name: r.Name, Era: ev.Era}
		delete(s.draining, ev.Topic)
	case FenceArmed:
		d := s.draining[ev.Topic]
		d.deadline = ev.Deadline
		s.draining[ev.Topic] = d
	case FenceReported:
		s.draining[ev.Topic] = s.draining[ev.Topic].with(ev.Report)
	case FenceAwaited:
		s.asking = append(slices.Clone(s.asking), ev)
	case FenceAnswered:
		s.asking = slices.DeleteFunc(slices.Clone(s.asking), func(w FenceAwaited) bool { return w.Answer.Ref == ev.Ref })
	case EraIgnored:
		s.ignored[ev.Topic]++
	default:
		return false
	}
	return true
}

// numberCommand notes a command that was obeyed. A late one with an older number finds it (C3).
func (s *State) numberCommand(k LedgerKey, g core.Generation, content CommandRecord) {
	e := s.entries[k]
	if g > e.generation {
		e.number(g, content)
		s.entries[k] = e
	}
}

// endFence lifts the fence of a mirror in the very event that releases or unregisters it, so that no crash can keep one
// without the other (C8).
func (s *State) endFence(topic core.TopicID, by core.MirrorKey, why string) {
	if leavingEndsFence {
		s.lift(topic, by, why)
	}
}

// lift ends the fence of one mirror, if it has one. A topic that is superseded stays so.
func (s *State) lift(topic core.TopicID, by core.MirrorKey, why string) {
	r := s.successions[topic]
	if !r.is(Fenced, by) {
		return
	}
	s.successions[topic] = SuccessionRecord{Topic: topic, Name: r.Name, Era: r.Era, Text: why}
	delete(s.draining, topic)
}

// spokenOf lists the topics that a succession is known of, or was claimed and ignored.
func (s *State) spokenOf() []core.TopicID {
	list := s.moving()
	for id := range s.ignored {
		if _, known := s.successions[id]; !known {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, func(a, b core.TopicID) int { return slices.Compare(a[:], b[:]) })
	return list
}

// moving lists the topics that anything is known of beside registrations, in a fixed order.
func (s *State) moving() []core.TopicID {
	return slices.SortedFunc(maps.Keys(s.successions), func(a, b core.TopicID) int { return slices.Compare(a[:], b[:]) })
}
