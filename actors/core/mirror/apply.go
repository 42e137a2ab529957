package mirror

import (
	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

func apply(s *State, ev Event) {
	switch ev := ev.(type) {
	case MirrorCreated:
		s.exists, s.name, s.source, s.config = true, ev.Mirror, ev.Source, settings(ev.Config)
	case MirrorConfigured:
		s.config = settings(ev.Config)
	case PatternsChanged:
		s.include, s.exclude, s.desired = ev.Include, ev.Exclude, Type(ev.Desired)
	case MirrorDeleted:
		*s = *newState(string(s.name))
	case TopicAdded:
		s.topics[ev.Topic] = added(ev)
	case TopicForgotten:
		delete(s.topics, ev.Topic)
	case ClockArmed:
		s.nextTick = ev.At
	case DefaultsRead:
		s.defaults = ev.Defaults
	case Resumed:
		s.resumedAt = ev.At
	default:
		if t := s.topics[topicOf(ev)]; t != nil {
			t.apply(ev)
		}
	}
}

func added(ev TopicAdded) *topic {
	r := TopicRecord{
		Topic: ev.Topic, Name: ev.Name, Config: ev.Config, Phase: int8(Async), Desired: ev.Desired,
		Incarnation: ev.Incarnation, Session: ev.Session,
	}
	if Type(ev.Desired) == TypeSync {
		r.Phase = int8(CatchingUp)
	}
	r.FollowUnclean = settings(ev.Config)[FollowUncleanSetting] == "true"
	for range ev.Count {
		r.Partitions = append(r.Partitions, unmirrored)
	}
	return newTopic(r)
}

// topicOf names the topic of an event about one.
func topicOf(ev Event) core.TopicID {
	switch ev := ev.(type) {
	case LocalTopicMade:
		return ev.Topic
	case DesiredTypeChanged:
		return ev.Topic
	case CommandIssued:
		return ev.Topic
	case TopicAdmitted:
		return ev.Topic
	case PartitionArmed:
		return ev.Topic
	case PartitionGated:
		return ev.Topic
	case TopicPromoted:
		return ev.Topic
	case ClaimConfirmed:
		return ev.Topic
	case TopicUnclaimed:
		return ev.Topic
	case CommandSettled:
		return ev.Topic
	case RegisterRefused:
		return ev.Topic
	case GenerationOvertaken:
		return ev.Topic
	case ReleaseNoted:
		return ev.Topic
	case RetriesForgotten:
		return ev.Topic
	case PartitionsAdded:
		return ev.Topic
	case PartitionsMade:
		return ev.Topic
	case SourceAccepted:
		return ev.Topic
	case SourceFollowed:
		return ev.Topic
	case IncarnationDrawn:
		return ev.Topic
	case PartitionBroken:
		return ev.Topic
	case TopicFailed:
		return ev.Topic
	case TopicOrphaned:
		return ev.Topic
	case SourceDurabilitySeen:
		return ev.Topic
	case TopicRecovered:
		return ev.Topic
	case SwitchoverCommitted:
		return ev.Topic
	case SwitchoverEnded:
		return ev.Topic
	case FailoverHeard:
		return ev.Topic
	case EraSeen:
		return ev.Topic
	case TopicStopping:
		return ev.Topic
	case StopUngated:
		return ev.Topic
	case StopDrained:
		return ev.Topic
	case PartitionFenced:
		return ev.Topic
	case PartitionRaised:
		return ev.Topic
	case StopOpenedHW:
		return ev.Topic
	case PartitionReset:
		return ev.Topic
	case TopicStopped:
		return ev.Topic
	default:
		return ev.(softEvent).topic() // panics on an event without a topic
	}
}

// apply changes one topic. A turn applies to its own copy, the machine to the state.
func (t *topic) apply(ev Event) {
	switch ev := ev.(type) {
	case LocalTopicMade:
		t.Created = true
	case DesiredTypeChanged:
		t.desire(Type(ev.Desired))
	case CommandIssued:
		t.issue(ev)
	case TopicAdmitted:
		t.admit(ev.Epoch)
	case PartitionArmed:
		p := &t.Partitions[ev.Partition]
		p.Armed, p.From, p.GatedIn = true, ev.GateStart, ev.SourceEpoch
	case PartitionGated:
		t.Partitions[ev.Partition].GatedIn = ev.SourceEpoch
	case TopicPromoted:
		t.Phase, t.Recovery, t.RetryAttempt, t.Text = int8(Sync), false, 0, ""
	case ClaimConfirmed:
		t.Clock, t.Index = ev.Clock, ev.Index
	case TopicUnclaimed:
		t.unclaim(ev)
	case CommandSettled:
		t.Pending, t.Standing = pendingNone, false
		t.disarm()
		if t.phase() == Demoting {
			t.Phase = int8(Async)
		}
	case RegisterRefused:
		t.Pending = pendingNone
		t.released(ev.Release)
		if ev.Release > 0 || releasedWithoutNumber && perr.Code(ev.Code) == perr.MirrorSyncReleasedRequiresFreshPromotion {
			t.Recovery, t.Standing = true, false // RELEASED says that the source does not gate
		}
		t.RetryAttempt, t.Text = ev.RetryAttempt, ev.Text
		if t.phase() == Registering {
			t.Phase = int8(CatchingUp)
		}
	case GenerationOvertaken:
		t.Pending, t.Generation = pendingNone, max(t.Generation, ev.Newest)
		t.newData(ev.Incarnation)
	case ReleaseNoted:
		t.released(ev.Release)
	case PartitionsAdded:
		t.add(ev.Count)
	case SourceAccepted:
		t.acceptSource(ev)
	case SourceFollowed:
		t.Partitions[ev.Partition].Accept = false
	case PartitionsMade:
		t.Growing = t.Growing && int(ev.Count) < len(t.Partitions)
	case RetriesForgotten:
		t.RetryAttempt, t.tryAfter = 0, 0
	case IncarnationDrawn:
		t.newData(ev.Incarnation)
	case PartitionBroken:
		t.Partitions[ev.Partition].Broken, t.Partitions[ev.Partition].Text = true, ev.Text
		if t.end(Failed, ev.Text); ev.Diverged {
			t.Phase = int8(Diverged)
		}
	case TopicFailed:
		t.Gone = true
		t.end(Failed, ev.Text)
	case SourceDurabilitySeen:
		t.SourceUnsynced = ev.Unsynced
	case TopicOrphaned:
		t.Gone = true
		t.end(Orphaned, ev.Text)
	case TopicRecovered:
		t.recover(ev.Session)
	case EraSeen:
		t.Era = max(t.Era, ev.Era)
	default:
		if !t.applyStop(ev) {
			t.applySoft(ev.(softEvent))
		}
	}
}

func (t *topic) desire(want Type) {
	t.Desired = int8(want)
	switch {
	case want == TypeSync && (t.phase() == Async || t.phase() == Demoting):
		t.Phase, t.RetryAttempt, t.Text = int8(CatchingUp), 0, ""
	case want == TypeAsync && t.phase() == CatchingUp:
		t.Recovery, t.RetryAttempt, t.Text = false, 0, ""
		if t.Phase = int8(Async); t.Standing {
			t.Phase = int8(Demoting)
		}
	}
}

func (t *topic) issue(ev CommandIssued) {
	t.Pending, t.Generation = ev.Kind, ev.Generation
	t.attempt, t.sendDue = 0, 0
	if ev.Kind == pendingSwitchover {
		t.Text = ""
	}
	if ev.Kind == pendingRegister {
		t.Phase, t.Standing = int8(Registering), true
		t.Echo, t.Echoed, t.MinISR = ev.Echo, max(t.Echoed, ev.Echo), ev.MinISR
	}
}

func (t *topic) admit(epoch core.RegistrationEpoch) {
	t.Pending, t.Phase = pendingNone, int8(Arming)
	if epoch != t.Epoch || epoch == 0 || !armedUnderOneEpoch {
		if armedUnderOneEpoch {
			t.disarm()
		}
		t.Epoch = epoch
	}
}

// released notes a release. One that no Register has answered yet ended the registration under which the
// partitions were armed: what the source acknowledged since may be missing here (C13).
func (t *topic) released(n core.ReleaseNumber) {
	t.Release = max(t.Release, n)
	if n > t.Echoed {
		t.disarm()
	}
}

// disarm forgets what held under another registration, for other data, or while the source gated.
func (t *topic) disarm() {
	for i := range t.Partitions {
		p := &t.Partitions[i]
		p.Armed, p.From, p.GatedIn = false, core.Unknown, core.NoEpoch
		l := &t.live[i]
		l.gateEpoch, l.gateStart, l.claim, l.floor = core.NoEpoch, core.Unknown, ClaimTime{}, core.Unknown
	}
}

func (t *topic) newData(i core.Incarnation) {
	t.Incarnation, t.Epoch = i, 0
	t.disarm()
}

func (t *topic) unclaim(ev TopicUnclaimed) {
	t.RetryAttempt, t.Text = ev.RetryAttempt, ev.Text
	t.released(ev.Release)
	if ev.Reason == reasonFailing || ev.Reason == reasonOther {
		t.disarm()
	}
	if t.Pending == pendingRegister {
		t.Pending = pendingNone
	}
	switch {
	case t.wants() == TypeSync:
		t.Phase, t.Recovery = int8(CatchingUp), true
	case t.Standing:
		t.Phase, t.Recovery = int8(Demoting), false
	default:
		t.Phase, t.Recovery = int8(Async), false
	}
}

// end leaves the way to SYNC; a Register that is still out is answered by nobody here.
func (t *topic) end(p Phase, text string) {
	t.Phase, t.Text, t.Recovery = int8(p), text, false
	if t.Pending == pendingRegister {
		t.Pending = pendingNone
	}
}

func (t *topic) recover(session core.MirrorSession) {
	t.Session, t.Gone, t.Text, t.RetryAttempt = session, false, "", 0
	for i := range t.Partitions {
		t.Partitions[i].Broken, t.Partitions[i].Text = false, ""
	}
	switch {
	case t.wants() == TypeSync:
		t.Phase = int8(CatchingUp)
	case t.Standing:
		t.Phase = int8(Demoting)
	default:
		t.Phase = int8(Async)
	}
}

// applyStop applies the steps of a stop; each is left by the event of its last partition (C9).
func (t *topic) applyStop(ev Event) bool {
	switch ev := ev.(type) {
	case TopicStopping:
		t.Phase, t.Desired, t.Recovery, t.Pending = int8(Stopping), int8(TypeAsync), false, pendingNone
		t.RetryAttempt, t.Text = 0, "" // why it was not mirrored is answered: it shall not be
		if t.Step = int8(StepUnregister); !ev.Unregister {
			t.Step, t.Standing = int8(StepFence), false
		}
		t.Verb, t.Era = ev.Verb, max(t.Era, ev.Era)
		if ev.Tell {
			t.Pending, t.Generation = pendingFailover, t.Generation+1
			t.attempt, t.sendDue = 0, 0
		}
	case SwitchoverCommitted:
		t.Phase, t.Desired, t.Recovery, t.Text = int8(Stopping), int8(TypeAsync), false, ""
		t.Step, t.Verb, t.Era = int8(StepDrain), int8(VerbSwitchover), max(t.Era, ev.Era)
		for _, e := range ev.Ends {
			t.Partitions[e.Partition].StopAt = e.LEO
		}
	case SwitchoverEnded:
		t.Pending, t.Text = pendingNone, ev.Text
	case FailoverHeard:
		t.Pending, t.Heard, t.Text = pendingNone, int8(HeardRefused), ev.Text
		if ev.Obeyed {
			t.Heard = int8(HeardObeyed)
		}
	case StopUngated:
		t.Pending, t.Standing, t.Step = pendingNone, false, int8(StepFence)
		for _, e := range ev.Ends {
			t.Partitions[e.Partition].StopAt, t.Step = e.LEO, int8(StepDrain)
		}
	case StopDrained:
		t.Step, t.Text, t.Pending, t.Standing = int8(StepFence), ev.Text, pendingNone, false
	case PartitionFenced:
		p := &t.Partitions[ev.Partition]
		p.Fenced, p.LME, p.End, p.Target, p.Keep = true, ev.LME, ev.End, ev.Target, ev.Keep
		if t.step() == StepFence && t.every(func(p PartitionRecord) bool { return p.Fenced }) {
			t.Step = int8(StepEpoch)
		}
	case PartitionRaised:
		t.Partitions[ev.Partition].Raised = true
		if t.step() == StepEpoch && t.every(func(p PartitionRecord) bool { return p.Raised }) {
			t.Step = int8(StepOpenHW)
		}
	case StopOpenedHW:
		t.Step = int8(StepReset)
	case PartitionReset:
		t.Partitions[ev.Partition].Reset = true
	case TopicStopped:
		t.Phase, t.Step = int8(Stopped), int8(StepNone)
	default:
		return false
	}
	return true
}

func (p PartitionRecord) keep() partition.KeepProducers { return partition.KeepProducers(p.Keep) }
