package mirror

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// Why a claim ended.
const (
	reasonOperator = int8(1)
	reasonReleased = int8(2)
	reasonFailing  = int8(3)
	reasonReset    = int8(4)
	reasonOther    = int8(5)
)

// demote is the saga of C6: nothing is claimed any more, then Unregister is sent until it is answered, and
// only then does the topic return to async fetches: until the source has un-gated, its acks wait for our
// floors (F24). Any demotion tells the source, or it would gate on a mirror that no longer reports (F25).
func (w *turn) demote(reason int8, release core.ReleaseNumber, text string) {
	ev := TopicUnclaimed{Topic: w.t.Topic, Reason: reason, Release: release, Text: text}
	if reason != reasonOperator {
		ev.RetryAttempt = w.t.RetryAttempt + 1
	}
	if unclaimFirst {
		w.happen(ev)
	}
	if reason != reasonOperator {
		w.delay()
	}
	// A switchover's outcome may be that the source has handed over, and an Unregister under a newer number would hide it:
	// nobody would take the topic's writes (C8).
	waits := w.t.Pending == pendingSwitchover && outcomeBeforeUnregister
	if w.t.Standing && demotionUnregisters && !waits {
		w.issue(pendingUnregister)
		return
	}
	w.tell()
}

// decideReleased obeys an explicit RELEASED(n), unless it is older than what the newest Register has answered:
// a late notice must not demote a registration that already recovered from it (C5, model K3).
func (s *State) decideReleased(now core.Now, c ReportReleased) (out outcome) {
	for _, t := range s.sorted() {
		if len(c.Topics) > 0 && !slices.Contains(c.Topics, t.Topic) {
			continue
		}
		if c.Number <= t.Echoed && ignoreStaleRelease || t.phase() == Stopped {
			continue
		}
		w := s.turn(now, t)
		switch p := t.phase(); {
		case obeyRelease && (p == Registering || p == Arming || p == Sync):
			w.demote(reasonReleased, c.Number, "released by the source, recovering")
		case c.Number > t.Release:
			w.happen(ReleaseNoted{Topic: t.Topic, Release: c.Number})
		}
		w.into(&out)
	}
	return out
}

// decideLifted forgets the refusals of topics on their way back: a held recovery backs off up to a minute, for as
// long as it takes, and must not sit that minute out once the source is willing (C4).
func (s *State) decideLifted(c ReportLifted) (out outcome) {
	for _, t := range s.sorted() {
		if len(c.Topics) > 0 && !slices.Contains(c.Topics, t.Topic) || t.phase() != CatchingUp || t.RetryAttempt == 0 {
			continue
		}
		if noticeEndsBackOff {
			out.Events = append(out.Events, RetriesForgotten{Topic: t.Topic})
		}
	}
	return out
}

// demoteFailing is the draft's rule for a source that does not name its release: every partition has been
// refused for the time-out. A partition with another error says nothing of the registration and does not keep
// the rule from firing, or one dead leader would hold 99 released partitions in a false SYNC (F22).
func (w *turn) demoteFailing() bool {
	t := w.t
	if p := t.phase(); p != Arming && p != Sync && (p != Registering || countAfterAnswer) {
		return false
	}
	refused := 0
	for _, l := range t.live {
		switch {
		case l.refusedAt != 0 && w.now.Mono-l.refusedAt >= w.s.demoteNs():
			refused++
		case l.failedAt != 0 && l.refusedAt == 0 && otherErrorsDoNotBlock:
		default:
			return false
		}
	}
	if refused == 0 {
		return false
	}
	w.demote(reasonFailing, 0, fmt.Sprintf("the source refused sync fetches of %d of %d partitions for %d s", refused, len(t.live), w.s.demoteNs()/1e9))
	return true
}

// decideUnregisterAnswer ends the saga. Whatever the source says, short of "ask again", it does not gate any
// more: applied, or it does not know the topic. "Superseded" means that the journal was restored (C6, K5).
func (s *State) decideUnregisterAnswer(now core.Now, c UnregisterAnswered) outcome {
	t := s.topics[c.Topic]
	if t == nil || t.Pending != pendingUnregister && t.Pending != pendingStop || c.Generation != t.Generation {
		return outcome{}
	}
	w := s.turn(now, t)
	switch {
	case t.Pending == pendingStop:
		w.ungated(c)
	case c.Newest != 0:
		if supersededIsAnAnswer {
			w.overtaken(c.Newest, c.Fresh)
		}
	case !isAnswer(c.Code):
	case c.Code != perr.None && !supersededIsAnAnswer:
	default:
		if !unclaimFirst && (t.phase() == Arming || t.phase() == Sync) {
			w.happen(TopicUnclaimed{Topic: t.Topic, Reason: reasonOperator})
		}
		w.happen(CommandSettled{Topic: t.Topic, Code: int16(c.Code)})
		w.tell()
	}
	return w.out
}

// isAnswer tells what the source decided from what it could not decide now. That it does not know the topic is
// a decision, although Kafka's clients retry the code (C6).
func isAnswer(c perr.Code) bool {
	return !c.Retriable() || c == perr.UnknownTopicId || c == perr.InconsistentTopicId
}

// decideBroken stops claiming a topic that cannot be mirrored on; the data stays. The source is told, since no
// floor of that partition will move any more.
func (s *State) decideBroken(now core.Now, t *topic, partition int32, diverged bool, text string) outcome {
	if t.phase() == Stopping || t.phase() == Stopped || t.Partitions[partition].Broken {
		return outcome{}
	}
	w := s.turn(now, t)
	w.happen(PartitionBroken{Topic: t.Topic, Partition: partition, Diverged: diverged, Text: text})
	w.withdraw()
	return w.out
}

// orphanedRemedy lists the ways out: this copy, the same topic if the source has it again, or the one that has its name.
const orphanedRemedy = "; the copy here is kept: --stop makes it writable, --recover follows the source if it has the topic again, and to follow another topic of that name --stop this one, delete it here and --start it"

// decideGone keeps the copy of a topic that its source deleted. Nothing is attached in its place by itself: a topic made
// again under the name is another one (F34).
func (s *State) decideGone(now core.Now, t *topic, text string) outcome {
	if t.phase() == Stopping || t.phase() == Stopped || t.Gone {
		return outcome{}
	}
	w := s.turn(now, t)
	if goneIsOrphaned {
		w.happen(TopicOrphaned{Topic: t.Topic, Text: text + orphanedRemedy})
	} else {
		w.happen(TopicFailed{Topic: t.Topic, Text: text})
	}
	w.withdraw()
	return w.out
}

// withdraw takes a standing registration back.
func (w *turn) withdraw() {
	if w.t.Standing && w.t.Pending == pendingNone && demotionUnregisters {
		w.issue(pendingUnregister)
		return
	}
	w.tell()
}

// decideReset gives the data a new incarnation: floors and arming of the old one are void (R2, R11).
func (s *State) decideReset(now core.Now, t *topic, c ReportReset) outcome {
	if t.phase() == Stopping || t.phase() == Stopped {
		return outcome{}
	}
	w := s.turn(now, t)
	p := t.phase()
	w.happen(IncarnationDrawn{Topic: t.Topic, Incarnation: c.Fresh})
	if p == Registering || p == Arming || p == Sync {
		w.demote(reasonReset, 0, c.Text)
	} else {
		w.tell()
	}
	return w.out
}
