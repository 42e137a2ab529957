package mirror

import (
	"lockstep/actors/core"
)

type outcome = core.Outcome[Event, Effect]

// Times of the saga, in ns.
const (
	tickNs        = int64(200e6)
	resendFirstNs = int64(200e6)
	resendMostNs  = int64(5e9)
	backOffNs     = int64(500e6) // doubling with every refusal
	backOffMostNs = int64(60e9)
	driveNs       = int64(1e9) // unanswered asks of a topic are repeated
	stopTellNs    = int64(5e9) // what the one Unregister of a stop is given
	drainMostNs   = int64(30e9)
)

// turn is one decision about one topic: events are applied to a copy at once, so that effects can be derived
// from what will be true once they are on disk.
type turn struct {
	s   *State
	now core.Now
	t   *topic
	out outcome
}

func (s *State) turn(now core.Now, t *topic) *turn { return &turn{s: s, now: now, t: t.clone()} }

func (w *turn) happen(ev Event) {
	w.t.apply(ev)
	w.out.Events = append(w.out.Events, ev)
}

func (w *turn) do(e Effect) { w.out.Late = append(w.out.Late, e) }

// into adds the turn to an outcome.
func (w *turn) into(out *outcome) {
	out.Events = append(out.Events, w.out.Events...)
	out.Early = append(out.Early, w.out.Early...)
	out.Late = append(out.Late, w.out.Late...)
}

// tell publishes the topic as it is now and adjusts its fetchers.
func (w *turn) tell() {
	w.do(Publish{Facts: w.s.facts(w.t)})
	w.fetch()
}

func (w *turn) fetch() {
	w.do(FetchTopic{
		Mirror: w.s.name, Config: w.s.config, SourceCluster: w.s.source, Topic: w.t.Topic, Name: w.t.Name,
		Partitions: int32(len(w.t.Partitions)), Session: w.t.Session, Mode: w.t.fetchMode(), Epoch: w.t.Epoch,
		Incarnation: w.t.Incarnation, FollowUnclean: w.t.FollowUnclean || w.s.config[FollowUncleanSetting] == "true", Accept: w.t.accepting(),
	})
}

// issue numbers a command, turns fetchers and floors to what the source may believe from now on, and sends it.
// The number is on disk before the message leaves: a destination that forgot it would give it to another
// command (C3, F16).
func (w *turn) issue(kind int8) {
	ev := CommandIssued{Topic: w.t.Topic, Kind: kind, Generation: w.t.Generation + 1}
	if kind == pendingRegister {
		ev.MinISR = w.minISR()
		if echoSeenRelease {
			ev.Echo = w.t.Release
		}
	}
	w.happen(ev)
	w.tell()
	w.send(0)
}

// send carries the pending command once and says when it is due again.
func (w *turn) send(attempt int32) {
	sent := CommandSent{Topic: w.t.Topic, Attempt: attempt, Due: w.now.Mono + doubling(resendFirstNs, resendMostNs, attempt)}
	if w.t.Pending == pendingStop {
		sent.Deadline = w.t.deadline
		if attempt == 0 {
			sent.Deadline = w.now.Mono + stopTellNs
		}
	}
	w.happen(sent)
	message := w.message()
	if journalBeforeSending {
		w.do(message)
	} else {
		w.out.Early = append(w.out.Early, message)
	}
}

func (w *turn) message() Effect {
	t := w.t
	switch t.Pending {
	case pendingSwitchover:
		return SendSupersede{Mirror: w.s.name, Config: w.s.config, Topic: t.Topic, Name: t.Name, Generation: t.Generation, Era: t.Era + 1, Attempt: t.attempt}
	case pendingFailover:
		return SendSupersede{Mirror: w.s.name, Config: w.s.config, Topic: t.Topic, Name: t.Name, Generation: t.Generation, Era: t.Era, Failover: true, Attempt: t.attempt}
	case pendingRegister:
		return SendRegister{
			Mirror: w.s.name, Config: w.s.config, Topic: t.Topic, Name: t.Name, Generation: t.Generation,
			Echo: t.Echo, Recovery: t.Recovery, Incarnation: t.Incarnation, MinISR: t.MinISR, Partitions: int32(len(t.Partitions)), Attempt: t.attempt,
		}
	}
	return SendUnregister{
		Mirror: w.s.name, Config: w.s.config, Topic: t.Topic, Name: t.Name, Generation: t.Generation,
		Stop: t.Pending == pendingStop, Deadline: t.deadline, Attempt: t.attempt,
	}
}

// minISR is what this cluster requires of its partitions now; the source pins it (F32).
func (w *turn) minISR() (n int32) {
	n = 1
	for _, l := range w.t.live {
		n = max(n, l.progress.MinISR)
	}
	return n
}

// delay backs the next promotion off (C7): the first attempt after a refusal waits half a second, later ones
// twice as long each, at most a minute.
func (w *turn) delay() {
	if backOff {
		w.happen(PromotionDelayed{Topic: w.t.Topic, Until: w.now.Mono + doubling(backOffNs, backOffMostNs, max(0, w.t.RetryAttempt-1))})
	}
}

func doubling(first, most int64, n int32) int64 {
	for ; n > 0 && first < most; n-- {
		first *= 2
	}
	return min(first, most)
}
