package registration

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// ungatingWaitNs is how long the answer to an Unregister for a stop waits for the leaders' LEOs. The
// destination gives the whole request 5 s (C8).
const ungatingWaitNs = int64(1e9)

// decideUnregister ends a registration at the destination's wish. It is obeyed also for a key that was never
// admitted: its number keeps a late Register out, which would gate on nobody for ever (model C4). It never
// touches a marker: the destination may not undo a release by leaving and coming back (model K4).
func (s *State) decideUnregister(now core.Now, c UnregisterTopic) (out outcome) {
	k := LedgerKey{c.Key, c.Topic}
	answer := UnregisterAnswered{Ref: c.Ref, Topic: c.Topic, Name: c.Name}
	if code, text := s.wrongTopic(c.Topic, c.Name, c.Source); code != perr.None {
		answer.Code, answer.Text = code, text
		return reply(out, answer)
	}
	content := CommandRecord{Unregister: true, Mode: int8(c.Mode)}
	e := s.entries[k]
	if newest, text := e.superseded(c.Generation, content); text != "" {
		answer.Code, answer.Text, answer.Newest = perr.InvalidSyncRegistration, text, newest
		return reply(out, answer)
	}
	if r := s.successions[c.Topic]; r.is(Superseded, c.Key) && supersededKeepsGates {
		// The mirror has opened: an Unregister that it sent before would acknowledge what it does not have (I46).
		answer.Code = perr.InvalidClusterMirrorState
		answer.Text = fmt.Sprintf("cluster %s has taken over topic %q (era %d): what waits here is not acknowledged any more", r.Cluster, c.Source.Name, r.Next)
		out.Events = s.numbered(k, c.Source.Name, c.Generation, content, answer.Code)
		return reply(out, answer)
	}
	if e.leaving && !e.registered {
		// The destination un-claims before it sends this (C6): the lease need not be waited out.
		return s.confirmRelease(now, out, k, c, content, answer)
	}
	if !e.registered {
		out.Events = s.numbered(k, c.Source.Name, c.Generation, content, perr.None)
		return reply(out, answer)
	}
	out.Events = []Event{TopicUnregistered{
		Cluster: c.Key.Cluster, Mirror: c.Key.Mirror, Topic: c.Topic,
		Epoch: e.epoch, Generation: c.Generation, Content: content,
	}}
	return s.ungate(now, out, k, c, answer)
}

// ungate publishes that a topic gates on the mirror no longer, and answers.
func (s *State) ungate(now core.Now, out outcome, k LedgerKey, c UnregisterTopic, answer UnregisterAnswered) outcome {
	e := s.entries[k]
	out = s.answerAsking(s.publish(out, c.Topic), c.Topic)
	if c.Mode != ModeStop || !namesUngatedEnd {
		return reply(out, answer)
	}
	// Un-gating acknowledges whatever waited: the destination mirrors up to the leaders' ends before it
	// opens, or it would lack records that the source has just acknowledged (F17, model W5).
	answer.LEO = slices.Repeat([]core.Offset{core.Unknown}, int(e.partitions))
	deadline := now.Mono + ungatingWaitNs
	out.Events = append(out.Events, UngatingAwaited{Answer: answer, Key: k, Epoch: e.epoch, Deadline: deadline})
	out.Early = append(out.Early, ArmTimer{At: deadline})
	return out
}

// decideUngated collects the ends of the leaders that no longer gate, and answers with the last of them.
func (s *State) decideUngated(c ReportUngated) (out outcome) {
	k := LedgerKey{c.Key, c.ID.Topic}
	for _, w := range s.waiting {
		if w.Key != k || w.Epoch != c.Epoch || c.ID.Index < 0 || int(c.ID.Index) >= len(w.Answer.LEO) {
			continue
		}
		if len(out.Events) == 0 {
			out.Events = append(out.Events, UngatedReported{Key: k, Epoch: c.Epoch, Partition: c.ID.Index, LEO: c.LEO})
		}
		answer := w.Answer
		answer.LEO = slices.Clone(answer.LEO)
		answer.LEO[c.ID.Index] = max(answer.LEO[c.ID.Index], c.LEO)
		if !slices.Contains(answer.LEO, core.Unknown) {
			out.Events = append(out.Events, UngatingAnswered{answer.Ref})
			out.Late = append(out.Late, answer)
		}
	}
	return out
}

// decideTick answers with what is known: a partition without a leader has nobody to say where it ended.
func (s *State) decideTick(now core.Now) (out outcome) {
	for _, w := range s.waiting {
		if w.Deadline <= now.Mono {
			out.Events = append(out.Events, UngatingAnswered{w.Answer.Ref})
			out.Late = append(out.Late, w.Answer)
		}
	}
	return s.tickFences(now, s.tickReleases(now, out))
}

// decideRelease is the operator's release. It always takes a new number, also when the key is released
// already: a recovery Register that is in flight has not seen this one (models C1b, M0).
func (s *State) decideRelease(now core.Now, c ReleaseMirror) (out outcome) {
	answer := ReleaseAnswered{Ref: c.Ref}
	at, known := s.owner(c.Mirror)
	if !known {
		answer.Code = perr.UnknownClusterMirror
		answer.Text = fmt.Sprintf("cluster %s has no synchronous registration of mirror %q: run this on the source", s.cluster, c.Mirror)
		return reply(out, answer)
	}
	answer.Cluster = at.Cluster
	whole := len(c.Topics) == 0
	if c.Forget && !whole {
		answer.Code = perr.InvalidRequest
		answer.Text = fmt.Sprintf("--forget gives up the name of mirror %q and needs a release of all its topics: leave out --topics", c.Mirror)
		return reply(out, answer)
	}
	var released []core.TopicID
	answer.Topics, released = s.toRelease(at, c)
	afterLease := c.AfterLease || s.mustWait(now, c)
	if afterLease && s.anyGated(at, released) {
		answer.Wait, answer.Promised = s.wait(c.Lease), s.mustWait(now, c)
	}
	if c.DryRun || len(released) == 0 && (!whole || len(answer.Topics) > 0) {
		return reply(out, answer) // nothing to do, or all of it refused: no number is given out
	}
	number := s.mirrors[at].number + 1
	if !oneReleaseCounter {
		number = s.ownCounter(at, whole, released)
	}
	answer.Number = number
	out.Events = []Event{MirrorReleased{
		Cluster: at.Cluster, Mirror: at.Mirror, Number: number, Whole: whole, Topics: released, Forgotten: c.Forget, Hold: c.Hold,
		AfterLease: afterLease,
	}}
	if afterLease && !leaseFromPublished {
		for _, t := range released {
			out.Events = append(out.Events, ReleaseArmed{Key: LedgerKey{at, t}, Until: now.Mono + s.wait(c.Lease)})
		}
	}
	out.Events = append(out.Events, s.takenBack(at, released)...)
	out = s.answerAsking(s.publish(out, released...), released...)
	notice := NotifyReleased{Key: at, Number: number}
	if !whole {
		notice.Topics = released
	}
	out.Late = append(out.Late, notice)
	if afterLease {
		out.Late = append(out.Late, NoteRelease{Key: at, Number: number})
	}
	return reply(out, answer)
}

// toRelease lists the topics of a release: those named, or every topic the mirror has an entry for. A topic that the
// mirror has taken over is left out unless the operator forces it: from then on two clusters would take its writes (C8).
func (s *State) toRelease(at core.MirrorKey, c ReleaseMirror) (rows []ReleasedTopic, released []core.TopicID) {
	named, refused := c.Topics, []core.TopicID{}
	for _, k := range s.keys() {
		if k.Mirror != at || len(named) > 0 && !slices.Contains(named, k.Topic) {
			continue
		}
		if r := s.successions[k.Topic]; r.is(Superseded, at) && !c.Force && releaseEndsAtSuccession {
			refused = append(refused, k.Topic)
			rows = append(rows, ReleasedTopic{
				Topic: k.Topic, Name: s.entries[k].name, Gated: true, Code: perr.InvalidClusterMirrorState,
				Text: fmt.Sprintf("cluster %s has taken over topic %q (era %d): releasing it would let two clusters take its writes; --force does so", at.Cluster, s.entries[k].name, r.Next),
			})
			continue
		}
		released = append(released, k.Topic)
		rows = append(rows, ReleasedTopic{Topic: k.Topic, Name: s.entries[k].name, Gated: s.entries[k].gating(), Held: s.held(k)})
	}
	for _, t := range named {
		if !slices.Contains(released, t) && !slices.Contains(refused, t) {
			rows = append(rows, ReleasedTopic{
				Topic: t, Code: perr.InvalidSyncRegistration,
				Text: fmt.Sprintf("mirror %q never registered topic %s in cluster %s", at.Mirror, t, s.cluster),
			})
		}
	}
	return rows, released
}

// takenBack ends the successions that a forced release covers, under an era above the successor's.
func (s *State) takenBack(at core.MirrorKey, released []core.TopicID) (events []Event) {
	for _, t := range released {
		if r := s.successions[t]; r.is(Superseded, at) {
			events = append(events, SuccessionEnded{Topic: t, Era: r.Next + 1})
		}
	}
	return events
}

// ownCounter numbers releases of a topic and of the mirror apart, which lets an old number of one pass for a
// newer one of the other (model M1); it exists for the switched-off rule only.
func (s *State) ownCounter(at core.MirrorKey, whole bool, topics []core.TopicID) core.ReleaseNumber {
	if whole {
		return s.mirrors[at].marker + 1
	}
	var n core.ReleaseNumber
	for _, t := range topics {
		n = max(n, s.entries[LedgerKey{at, t}].marker)
	}
	return n + 1
}
