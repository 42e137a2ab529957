package mirror

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

func (s *State) decideStop(now core.Now, c StopTopics) (out outcome) {
	answer := TopicsAnswered{Ref: c.Ref}
	if !s.exists {
		answer.Code, answer.Text = perr.UnknownClusterMirror, s.unknown()
		return reply(out, answer)
	}
	for _, id := range c.Topics {
		t := s.topics[id]
		if t == nil {
			answer.Topics = append(answer.Topics, s.notMine(id))
			continue
		}
		w := s.turn(now, t)
		answer.Topics = append(answer.Topics, w.leave(c.Verb))
		w.into(&out)
	}
	if len(c.Exclude) > 0 {
		ev := PatternsChanged{Include: s.include, Exclude: merged(s.exclude, c.Exclude), Desired: int8(s.desired)}
		out.Events = append(out.Events, ev)
		out.Late = append(out.Late, WatchSource{Mirror: s.name, Config: s.config, Include: ev.Include, Exclude: ev.Exclude})
	}
	return reply(out, answer)
}

func (w *turn) leave(v Verb) TopicResult {
	switch v {
	case VerbSwitchover:
		return w.switchover()
	case VerbFailover:
		return w.failover()
	default:
		return w.stop()
	}
}

// stop is the draft's --stop (C8): legal from every state and without a source, since a dead source is what
// failover is for. Nothing is claimed from its event on. It is not a planned move: a source that lives goes on
// acknowledging, so the operator is told (F17).
func (w *turn) stop() TopicResult {
	t := w.t
	result := TopicResult{Topic: t.Topic, Name: t.Name}
	switch p := t.phase(); {
	case p == Stopping:
		result.Code, result.Text = perr.MirrorTopicBeingStopped, fmt.Sprintf("topic %q is being stopped already (%s)", t.Name, t.step())
		return result
	case p == Stopped:
		result.Warning = fmt.Sprintf("topic %q was stopped before and is writable", t.Name)
		return result
	case !stopFromAnywhere && (p == Failed || p == Diverged):
		result.Code, result.Text = perr.InvalidClusterMirrorState, fmt.Sprintf("topic %q is %s", t.Name, p)
		return result
	}
	alive := w.inContact()
	if alive && warnAliveSource {
		result.Warning = fmt.Sprintf("cluster %s answered a moment ago: if it lives, it goes on acknowledging writes to %q without this mirror: move the producers now", w.s.source, t.Name)
	}
	tell := t.Standing && (alive || !skipWithoutContact)
	untold := t.Standing && !tell
	w.happen(TopicStopping{Topic: t.Topic, Unregister: tell})
	switch {
	case tell:
		w.issue(pendingStop)
	case untold:
		w.untold()
	default:
		w.fence()
	}
	return result
}

// inContact reports whether the source answered anything within the lease. A process that has just started
// has not asked yet and gives it the benefit of the doubt.
func (w *turn) inContact() bool {
	newest := w.s.resumedAt
	for _, l := range w.t.live {
		newest = max(newest, l.contactAt)
	}
	return newest != 0 && w.now.Mono-newest <= w.s.leaseNs()
}

// ungated takes the answer to the one Unregister. Un-gating acknowledged what waited, so the source's log ends
// are mirrored before this copy opens (F17, model W5). An answer after the deadline finds the step left.
func (w *turn) ungated(c UnregisterAnswered) {
	ev := StopUngated{Topic: w.t.Topic, Answered: c.Code == perr.None && c.Newest == 0}
	for i, leo := range c.LEO {
		if leo != core.Unknown && i < len(w.t.Partitions) && drainToUngating {
			ev.Ends = append(ev.Ends, UngatedEnd{Partition: int32(i), LEO: leo})
		}
	}
	w.happen(ev)
	switch {
	case w.t.step() == StepDrain:
		w.happen(StepDriven{Topic: w.t.Topic, Since: w.now.Mono, Due: w.now.Mono})
		w.tell()
	case !isAnswer(c.Code): // it was not sent, or not decided
		w.untold()
	default:
		w.fence()
	}
}

// untold opens the copy of a source that may not have heard. Nobody will tell it later, so its producers wait for a mirror
// that is no more, and only its own operators can end that.
func (w *turn) untold() {
	w.happen(StopDrained{Topic: w.t.Topic, Text: fmt.Sprintf("cluster %s did not answer the stop: where it lives or comes back, its producers may wait for this mirror until --release-sync --mirror %s is run there", w.s.source, w.s.name)})
	w.fence()
}

func (w *turn) tickStop() {
	t := w.t
	switch t.step() {
	case StepUnregister:
		switch {
		case w.now.Mono >= t.deadline:
			// Withdrawn for good: delivered after this copy has opened, it would un-gate a source whose
			// acknowledgements nobody mirrors any more (model W7).
			w.happen(StopUngated{Topic: t.Topic})
			w.untold()
		case !oneUnregisterAtStop && w.now.Mono >= t.sendDue:
			w.send(t.attempt + 1)
		}
	case StepDrain:
		if text, done := w.drained(); done {
			w.happen(StopDrained{Topic: t.Topic, Text: text})
			w.fence()
		} else if t.Pending == pendingSwitchover && w.now.Mono >= t.sendDue {
			w.send(t.attempt + 1)
		}
	default:
		if w.now.Mono >= t.driveDue {
			w.drive()
		}
	}
}

// drained reports whether every named log end is here, or out of reach: a partition that the source has not
// served for a lease, or half a minute altogether.
func (w *turn) drained() (text string, done bool) {
	for i, p := range w.t.Partitions {
		l := w.t.live[i]
		if p.StopAt == core.Unknown || l.at != 0 && l.progress.LEO >= p.StopAt {
			continue
		}
		waited := w.now.Mono - max(w.t.stepSince, l.at)
		if waited <= w.s.leaseNs() && w.now.Mono-w.t.stepSince <= drainMostNs {
			return "", false
		}
		text = fmt.Sprintf("partition %d may have opened below offset %d, where the source ended at un-gating: it stopped serving", i, p.StopAt)
	}
	return text, true
}

// fence removes the fetchers and begins the steps that end in a writable topic.
func (w *turn) fence() {
	w.tell()
	w.drive()
}

// drive asks for whatever the current step still lacks. Every answer is one durable event and every ask may be
// repeated, so a restart goes on where the process before it was (C9).
func (w *turn) drive() {
	t := w.t
	if !t.Created || t.step() == StepReset && t.every(func(p PartitionRecord) bool { return p.Reset }) {
		w.happen(TopicStopped{Topic: t.Topic})
		w.tell()
		return
	}
	w.happen(StepDriven{Topic: t.Topic, Due: w.now.Mono + driveNs})
	if t.Growing && t.step() == StepFence {
		w.do(GrowLocalTopic{Topic: t.Topic, Count: int32(len(t.Partitions))}) // what is on record and not here fences nobody
	}
	for i, p := range t.Partitions {
		id := core.PartitionID{Topic: t.Topic, Index: int32(i)}
		switch {
		case t.step() == StepFence && !p.Fenced:
			w.do(FencePartition{ID: id, Session: t.Session, Keep: t.keep(p)})
			if !fenceBeforeEpoch {
				w.do(RaiseEpoch{ID: id, Min: t.target(i, FenceAnswered{LME: core.NoEpoch})})
			}
		case t.step() == StepEpoch && !p.Raised:
			w.do(RaiseEpoch{ID: id, Min: p.Target})
		case t.step() == StepReset && !p.Reset:
			w.do(WritePidReset{ID: id, Keep: p.keep()})
		}
	}
	if t.step() == StepOpenHW {
		w.openHW()
	}
}

// openHW lets the high watermark follow the local ISR before anything of our own is appended: whatever the
// source acknowledged is committed here first (R8).
func (w *turn) openHW() {
	w.happen(StopOpenedHW{Topic: w.t.Topic})
	if openHWBeforeReset {
		w.tell()
		w.drive()
	} else {
		w.drive()
		w.tell()
	}
}

// keep says whose producer state survives: only where this copy is armed, which a release ends, does it hold
// every batch that the source answered (C13).
func (t *topic) keep(p PartitionRecord) partition.KeepProducers {
	if !keepOnlyArmed || p.Armed {
		return partition.KeepIdempotent
	}
	return partition.KeepNone
}

// target is the next multiple of 1,024 above every epoch seen: the old source may go on electing leaders under
// the numbers right above its last one (D23, F48).
func (t *topic) target(i int, c FenceAnswered) core.LeaderEpoch {
	if !epochAboveAllSeen {
		return c.LME + 1
	}
	return (max(c.LME, c.Epoch, t.live[i].highest)/1024 + 1) * 1024
}

func (s *State) decideFenced(now core.Now, t *topic, c FenceAnswered) outcome {
	p := t.Partitions[c.ID.Index]
	if t.phase() != Stopping || !c.OK || writeLMEOnce && (p.Fenced || t.step() != StepFence) {
		return outcome{}
	}
	w := s.turn(now, t)
	w.happen(PartitionFenced{
		Topic: t.Topic, Partition: c.ID.Index, LME: c.LME, End: c.LEO,
		Target: t.target(int(c.ID.Index), c), Keep: int8(t.keep(p)),
	})
	if t.step() == StepFence && w.t.step() == StepEpoch {
		w.drive()
	}
	return w.out
}

func (s *State) decideRaised(now core.Now, t *topic, c EpochAnswered) outcome {
	p := t.Partitions[c.ID.Index]
	if t.phase() != Stopping || t.step() != StepEpoch || p.Raised || c.Code != perr.None || c.Epoch < p.Target {
		return outcome{}
	}
	w := s.turn(now, t)
	w.happen(PartitionRaised{Topic: t.Topic, Partition: c.ID.Index, Epoch: c.Epoch})
	if w.t.step() == StepOpenHW {
		w.drive()
	}
	return w.out
}

func (s *State) decidePidReset(now core.Now, t *topic, c ResetAnswered) outcome {
	if t.phase() != Stopping || t.step() != StepReset || t.Partitions[c.ID.Index].Reset {
		return outcome{}
	}
	w := s.turn(now, t)
	if !c.OK {
		// Most often the leader has not heard yet that the topic is being stopped.
		w.happen(StepDriven{Topic: t.Topic, Due: now.Mono + tickNs})
		return w.out
	}
	w.happen(PartitionReset{Topic: t.Topic, Partition: c.ID.Index})
	if w.t.every(func(p PartitionRecord) bool { return p.Reset }) {
		w.drive()
	}
	return w.out
}

// resumeStop goes on after a restart. The one Unregister is never sent twice; the first may still be on its way,
// so its time is waited out once more: it must not un-gate the source after this copy has opened (model W7).
func (w *turn) resumeStop() {
	if !resumeHalfwayStop {
		return
	}
	switch w.t.step() {
	case StepUnregister:
		w.happen(CommandSent{Topic: w.t.Topic, Due: w.now.Mono + stopTellNs, Deadline: w.now.Mono + stopTellNs})
		w.fetch()
	case StepDrain:
		w.happen(StepDriven{Topic: w.t.Topic, Since: w.now.Mono, Due: w.now.Mono})
		w.fetch()
	default:
		w.fence()
	}
}
