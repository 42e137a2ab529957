package mirror

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

func decide(s *State, now core.Now, cmd Command) outcome {
	switch c := cmd.(type) {
	case CreateMirror:
		return s.decideCreate(now, c)
	case ConfigureMirror:
		return s.decideConfigure(c)
	case DeleteMirror:
		return s.decideDelete(c)
	case StartTopics:
		return s.decideStart(now, c)
	case ObserveSource:
		return s.decideObserve(now, c)
	case AlterType:
		return s.decideAlter(now, c)
	case StopTopics:
		return s.decideStop(now, c)
	case RecoverTopics:
		return s.decideRecover(now, c)
	case LocalTopicDeleted:
		return s.decideDeleted(c)
	case LocalTopicGrown:
		return s.decideGrown(now, c)
	case ReportPartitions:
		return s.decidePartitions(now, c)
	case ReportUnknownPartition:
		return s.decideUnknownPartition(c)
	case LocalTopicAnswered:
		return s.decideMade(now, c)
	case ReportReleased:
		return s.decideReleased(now, c)
	case ReportLifted:
		return s.decideLifted(c)
	case RegisterAnswered:
		return s.decideRegisterAnswer(now, c)
	case UnregisterAnswered:
		return s.decideUnregisterAnswer(now, c)
	case SupersedeAnswered:
		return s.decideSupersedeAnswer(now, c)
	case RequestEpoch:
		return outcome{Late: []Effect{RaiseEpoch{ID: c.ID, Min: c.SourceEpoch + 10}}}
	case Republish:
		return s.decideRepublish(c)
	case Resume:
		return s.decideResume(now, c)
	case Describe:
		return outcome{Late: []Effect{Described{Ref: c.Ref, Mirror: describe(s, now)}}}
	case Tick:
		return s.decideTick(now)
	default:
		return s.decideReport(now, cmd.(report)) // panics on a command of another machine
	}
}

// decideReport believes only what was asked in the session that still runs.
func (s *State) decideReport(now core.Now, r report) outcome {
	switch c := r.(type) {
	case ReportProgress:
		if t, ok := s.partition(c.ID); ok && c.Session == t.Session {
			return s.decideProgress(now, t, c)
		}
	case ReportFailure:
		if t, ok := s.partition(c.ID); ok && c.Session == t.Session {
			return outcome{Events: []Event{FailureReported{ID: c.ID, Code: c.Code, Text: c.Text, Asked: c.Asked, At: now.Mono, AtWall: now.Wall}}}
		}
	case ReportEvidence:
		if t, ok := s.partition(c.ID); ok {
			return s.decideEvidence(now, t, c)
		}
	case ReportDiverged:
		if t, ok := s.partition(c.ID); ok && c.Session == t.Session {
			return s.decideBroken(now, t, c.ID.Index, true, c.Text)
		}
	case ReportRejected:
		if t, ok := s.partition(c.ID); ok && c.Session == t.Session {
			return s.decideBroken(now, t, c.ID.Index, false, c.Text)
		}
	case ReportReset:
		if t, ok := s.partition(c.ID); ok && c.Session == t.Session {
			return s.decideReset(now, t, c)
		}
	case ReportSourceTopicGone:
		if t := s.topics[c.Topic]; t != nil {
			return s.decideGone(now, t, c.Text)
		}
	case FenceAnswered:
		if t, ok := s.partition(c.ID); ok {
			return s.decideFenced(now, t, c)
		}
	case EpochAnswered:
		if t, ok := s.partition(c.ID); ok {
			return s.decideRaised(now, t, c)
		}
	case ResetAnswered:
		if t, ok := s.partition(c.ID); ok {
			return s.decidePidReset(now, t, c)
		}
	default:
		panic("mirror: unknown report")
	}
	return outcome{}
}

func (s *State) facts(topics ...*topic) (list []image.Fact) {
	for _, t := range topics {
		list = append(list, s.fact(t))
	}
	return list
}

// decideRepublish says what is mirrored, before any election: a topic must not be writable for an instant.
func (s *State) decideRepublish(c Republish) (out outcome) {
	out.Events = append(out.Events, DefaultsRead(c))
	next := *s
	next.defaults = c.Defaults
	if len(s.topics) > 0 {
		out.Late = append(out.Late, Publish{Facts: next.facts(s.sorted()...)})
	}
	return out
}

// decideResume drives everything again from the hard state (C9): what the process before was waiting for is
// asked again, and a stop goes on at its step.
func (s *State) decideResume(now core.Now, c Resume) (out outcome) {
	out = s.decideRepublish(Republish(c))
	out.Events = append(out.Events, Resumed{At: now.Mono})
	if !s.exists {
		return out
	}
	s.startClock(now, &out)
	s.watch(&out)
	for _, t := range s.sorted() {
		w := s.turn(now, t)
		w.resume()
		w.into(&out)
	}
	return out
}

func (w *turn) resume() {
	t := w.t
	if t.phase() == Stopping {
		if t.Pending == pendingSwitchover || t.Pending == pendingFailover {
			w.send(0)
		}
		w.resumeStop()
		return
	}
	if finishTornDecision && w.finish() {
		return
	}
	if !t.Created && !t.Gone {
		w.create()
	}
	if w.t.Growing {
		w.grow()
	}
	w.fetch()
	if t.Pending != pendingNone {
		w.send(0)
	}
	if t.RetryAttempt > 0 {
		w.delay()
	}
}

// finish completes a decision of which a crash kept only the first events. Nobody was told of it, but its rest
// must follow: un-claimed topics tell the source (F25), and nothing is claimed that is not wanted or not armed.
func (w *turn) finish() bool {
	t, p := w.t, w.t.phase()
	claims := p == Registering || p == Arming || p == Sync
	switch {
	case claims && t.wants() == TypeAsync:
		w.demote(reasonOperator, 0, "")
	case p == Sync && !t.allArmed():
		w.demote(reasonReset, 0, "the data here was reset")
	case p == Registering && t.Pending == pendingNone:
		w.issue(pendingRegister)
	case !claims && p != Stopped && t.Standing && t.Pending == pendingNone:
		w.issue(pendingUnregister)
	default:
		return false
	}
	return true
}

func (s *State) startClock(now core.Now, out *outcome) {
	out.Events = append(out.Events, ClockArmed{At: now.Mono + tickNs})
	out.Early = append(out.Early, ArmTimer{At: now.Mono + tickNs})
}

func (s *State) watch(out *outcome) {
	out.Late = append(out.Late, WatchSource{Mirror: s.name, Config: s.config, Include: s.include, Exclude: s.exclude})
}

// decideTick does what is due. A tick that nobody waits for any more does not start a second clock.
func (s *State) decideTick(now core.Now) (out outcome) {
	if !s.exists {
		return out
	}
	if now.Mono >= s.nextTick {
		s.startClock(now, &out)
	}
	for _, t := range s.sorted() {
		w := s.turn(now, t)
		w.tick()
		w.into(&out)
	}
	return out
}

func (w *turn) tick() {
	switch t := w.t; {
	case t.phase() == Stopped:
		w.tellOldSource()
		return
	case t.phase() == Stopping:
		w.tellOldSource()
		w.tickStop()
		return
	case !t.Created && !t.Gone && w.now.Mono >= t.driveDue:
		w.create()
	case t.Growing && w.now.Mono >= t.driveDue:
		w.grow()
	}
	if w.demoteFailing() {
		return
	}
	w.promote()
	w.claim()
	if w.t.Pending != pendingNone && w.now.Mono >= w.t.sendDue && (retryUntilAnswered || w.t.Pending == pendingRegister) {
		w.send(w.t.attempt + 1)
	}
}
