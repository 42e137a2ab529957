package mirror

import (
	"fmt"

	"lockstep/protocol/perr"
)

// failover takes a topic over from a source that is lost (C8): legal from every state, and it sends no Unregister. The
// standing registration is the fence: an isolated source cannot confirm anything that this copy does not have. The new
// era is on disk before anything else happens; the old source is told until it answers, and stops producing then.
func (w *turn) failover() TopicResult {
	t := w.t
	result := TopicResult{Topic: t.Topic, Name: t.Name}
	switch p := t.phase(); {
	case p == Stopping:
		result.Code, result.Text = perr.MirrorTopicBeingStopped, fmt.Sprintf("topic %q is being stopped already (%s)", t.Name, t.step())
		return result
	case p == Stopped:
		result.Warning = fmt.Sprintf("topic %q was stopped before and is writable", t.Name)
		return result
	}
	if w.inContact() && warnAliveSource {
		result.Warning = w.aliveSource()
	}
	ev := TopicStopping{Topic: t.Topic, Verb: int8(VerbFailover), Era: t.Era, Tell: t.Standing || t.Epoch != 0}
	if raiseEraAtFailover {
		ev.Era++
	}
	w.happen(ev)
	if w.t.Pending == pendingFailover {
		w.send(0)
	}
	w.fence()
	return result
}

// aliveSource says what a failover from a source that answers may cost. Only of a SYNC topic is it what no gate covers, and
// only such a topic can be switched over instead.
func (w *turn) aliveSource() string {
	lost, instead := "with acks=0 or 1 may be lost", "--switchover loses nothing"
	if w.t.phase() != Sync {
		lost, instead = "and this copy has not read is lost", "once the topic is SYNC --switchover loses nothing"
	}
	return fmt.Sprintf("cluster %s was reachable a moment ago: what it acknowledged %s, and its producers are refused only once it has heard of this; %s", w.s.source, lost, instead)
}

// heard takes the old source's answer. Either way it is one, and nobody is asked again: a source that does not obey has
// released this mirror or was taken over by another, and only an operator can say who is right.
func (w *turn) heard(c SupersedeAnswered) {
	switch {
	case c.Outcome == Superseded:
		w.happen(FailoverHeard{Topic: w.t.Topic, Obeyed: true})
	case c.Code != perr.None && !isAnswer(c.Code):
		// asked again when it is due
	default:
		w.happen(FailoverHeard{Topic: w.t.Topic, Text: fmt.Sprintf("cluster %s does not stop taking writes: %s (%s)", w.s.source, c.Text, c.Code)})
	}
}

// tellOldSource repeats the news of a failover, also long after this copy has opened: the old source may come back any
// day, and would take writes (F18).
func (w *turn) tellOldSource() {
	if w.t.Pending == pendingFailover && w.now.Mono >= w.t.sendDue && tellUntilAnswered {
		w.send(w.t.attempt + 1)
	}
}
