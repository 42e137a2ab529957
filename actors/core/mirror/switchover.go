package mirror

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

const switchoverEveryNs = int64(1e9) // a committed switchover asks whether ends have moved

// switchover asks the source to hand a topic over (C8). The source does the work: it fences its producers and commits
// when this cluster's floor has reached the end of every partition. Until then the topic stays what it is, so nothing
// need be undone when it comes to nothing.
func (w *turn) switchover() TopicResult {
	t := w.t
	result := TopicResult{Topic: t.Topic, Name: t.Name}
	refuse := func(code perr.Code, text string, args ...any) TopicResult {
		result.Code, result.Text = code, fmt.Sprintf(text, args...)
		return result
	}
	switch p := t.phase(); {
	case p == Stopped:
		result.Warning = fmt.Sprintf("topic %q was stopped before and is writable", t.Name)
		return result
	case p == Stopping:
		return refuse(perr.MirrorTopicBeingStopped, "topic %q is being stopped already (%s)", t.Name, t.step())
	case t.Pending == pendingSwitchover:
		return refuse(perr.MirrorTopicBeingStopped, "topic %q is being switched over already: cluster %s hands it over or says why not", t.Name, w.s.source)
	case p != Sync && switchoverOnlyFromSync:
		return refuse(perr.InvalidClusterMirrorState, "topic %q is not SYNC but %s, and nothing else can be switched over without loss: --alter --sync first, or --failover if cluster %s is lost", t.Name, p, w.s.source)
	case switchoverOnlyConfirmed && w.s.unconfirmed(t, w.now):
		return refuse(perr.InvalidClusterMirrorState, "cluster %s does not answer, and a switchover of topic %q needs it: use --failover if it is lost", w.s.source, t.Name)
	case switchoverOnlyConfirmed && w.s.partial(t, w.now):
		return refuse(perr.InvalidClusterMirrorState, "topic %q is not gated on all partitions now: --describe names them; wait, or use --failover if cluster %s is lost", t.Name, w.s.source)
	case t.Epoch == 0:
		return refuse(perr.UnsupportedVersion, "cluster %s cannot hand topic %q over: it does not number its registrations", w.s.source, t.Name)
	}
	w.issue(pendingSwitchover)
	return result
}

// decideSupersedeAnswer takes the source's answer to a switchover, or to the news of a failover.
func (s *State) decideSupersedeAnswer(now core.Now, c SupersedeAnswered) outcome {
	t := s.topics[c.Topic]
	if t == nil || ignoreForeignAnswers && c.Generation != t.Generation {
		return outcome{}
	}
	w := s.turn(now, t)
	switch t.Pending {
	case pendingSwitchover:
		w.switched(c)
	case pendingFailover:
		w.heard(c)
	}
	return w.out
}

func (w *turn) switched(c SupersedeAnswered) {
	t := w.t
	switch {
	case c.Outcome == Superseded:
		w.committed(c)
	case c.Newest != 0:
		w.endSwitchover("this journal is older than what the source knows: " + c.Text)
		if restoredStartsAfresh {
			w.happen(GenerationOvertaken{Topic: t.Topic, Newest: c.Newest, Incarnation: c.Fresh})
			w.demote(reasonReset, 0, "the journal was restored")
		}
	case c.Outcome == Fencing:
		// The source has held the answer back for a second; the next is asked for at the next tick.
		w.happen(CommandSent{Topic: t.Topic, Due: w.now.Mono})
	case c.Code != perr.None && !isAnswer(c.Code):
		// asked again when it is due
	case c.Code != perr.None:
		w.endSwitchover(fmt.Sprintf("switchover refused by cluster %s: %s (%s)", w.s.source, c.Text, c.Code))
	default:
		w.endSwitchover(fmt.Sprintf("switchover ended, cluster %s takes the writes as before: %s", w.s.source, c.Text))
	}
}

// endSwitchover leaves the topic as it was. What un-claimed it meanwhile had to wait for the outcome: the source may
// have handed over in the same moment.
func (w *turn) endSwitchover(text string) {
	w.happen(SwitchoverEnded{Topic: w.t.Topic, Text: text})
	if p := w.t.phase(); p == Registering || p == Arming || p == Sync {
		w.tell()
	} else {
		w.withdraw()
	}
}

// committed begins the stop: the source takes no writes any more, so this copy opens, whatever was asked of it in the
// meantime. It first mirrors what the source says is its end, from a source that still serves it; most often that is
// here already, since the floor was what committed.
func (w *turn) committed(c SupersedeAnswered) {
	if !c.Era.Plausible() {
		return // it is asked again
	}
	t := w.t
	ev := SwitchoverCommitted{Topic: t.Topic, Era: c.Era}
	for _, e := range c.Ends {
		if e.Partition >= 0 && int(e.Partition) < len(t.Partitions) && verifyEnds {
			ev.Ends = append(ev.Ends, UngatedEnd{Partition: e.Partition, LEO: e.LEO})
		}
	}
	first := t.phase() != Stopping
	if first || !slices.Equal(ev.Ends, t.ends()) {
		w.happen(ev)
	}
	w.happen(CommandSent{Topic: t.Topic, Due: w.now.Mono + switchoverEveryNs})
	if first {
		w.happen(StepDriven{Topic: t.Topic, Since: w.now.Mono, Due: w.now.Mono})
		w.tell()
	}
	w.tickStop()
}

// ends is where the source said that it ends.
func (t *topic) ends() (list []UngatedEnd) {
	for i, p := range t.Partitions {
		if p.StopAt != core.Unknown {
			list = append(list, UngatedEnd{Partition: int32(i), LEO: p.StopAt})
		}
	}
	return list
}
