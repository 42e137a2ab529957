package registration

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// gating reports whether acks wait for the mirror: registered, or released and not yet let go.
func (e entry) gating() bool { return e.registered || e.leaving }

// wait is how long a release after the lease withholds acks, in ns: the longest that evidence stated before it can be
// relied on, and a tenth for clocks that do not run alike.
func (s *State) wait(lease int64) int64 {
	lease = max(lease, s.promised*1e6)
	return lease + lease/10
}

// mustWait reports whether a release waits whatever the operator says: evidence promised it, and somebody may still
// count on it. A process that promises nothing keeps what an earlier one promised.
func (s *State) mustWait(now core.Now, c ReleaseMirror) bool {
	if c.Force {
		return false
	}
	// Until Resume says what this process promises, lowerAt is not known: a release that comes first waits.
	return s.promises > 0 || s.promised > 0 && (s.lowerAt == 0 || s.lowerAt > now.Mono) && promiseOutlivesSetting
}

func (s *State) anyGated(at core.MirrorKey, topics []core.TopicID) bool {
	return slices.ContainsFunc(topics, func(t core.TopicID) bool { return s.entries[LedgerKey{at, t}].gating() })
}

// promise journals a larger promise before any evidence states it. A smaller one is journaled when nobody relies on
// the larger one any more.
func (s *State) promise(now core.Now, c Resume) []Event {
	noted := PromiseNoted{Lease: c.Lease / 1e6}
	if c.Promise {
		noted.Ms = noted.Lease
	}
	var events []Event
	switch {
	case noted.Ms > s.promised:
		events = append(events, PromiseChanged{Ms: noted.Ms})
	case noted.Ms < s.promised:
		noted.LowerAt = now.Mono + s.wait(0)
	}
	return append(events, noted)
}

// noteLeaving lets the lease of every mirror that leaves begin anew: a restart forgot how much of it was over.
func (s *State) noteLeaving(out outcome) outcome {
	for _, k := range s.keys() {
		if s.entries[k].leaving {
			out.Late = append(out.Late, NoteRelease{Key: k.Mirror, Number: s.entries[k].marker})
		}
	}
	return out
}

// decidePublished starts the lease, once for each topic: later releases of it find that evidence has ended already.
func (s *State) decidePublished(now core.Now, c ReleasePublished) (out outcome) {
	until := now.Mono
	if ungateAfterLease {
		until += s.wait(c.Lease)
	}
	for _, k := range s.keys() {
		e := s.entries[k]
		if k.Mirror != c.Key || !e.leaving || e.marker > c.Number || s.leaveBy[k] != 0 {
			continue
		}
		out.Events = append(out.Events, ReleaseArmed{Key: k, Until: until})
	}
	if len(out.Events) > 0 {
		out.Early = append(out.Early, ArmTimer{At: until})
	}
	return out
}

// tickReleases lets mirrors go whose lease is over, and a promise that nobody relies on any more.
func (s *State) tickReleases(now core.Now, out outcome) outcome {
	ended := map[core.MirrorKey][]core.TopicID{}
	var topics []core.TopicID
	for _, k := range s.keys() {
		by := s.leaveBy[k]
		// Whoever has opened a mirror that was leaving holds what waits: it is never acknowledged here (I46).
		if s.entries[k].leaving && by != 0 && by <= now.Mono && !s.successions[k.Topic].is(Superseded, k.Mirror) {
			ended[k.Mirror] = append(ended[k.Mirror], k.Topic)
			topics = append(topics, k.Topic)
		}
	}
	for _, at := range s.mirrorsOf(ended) {
		out.Events = append(out.Events, ReleaseEnded{Cluster: at.Cluster, Mirror: at.Mirror, Topics: ended[at]})
	}
	if s.lowerAt != 0 && s.lowerAt <= now.Mono {
		out.Events = append(out.Events, PromiseChanged{Ms: s.promises})
	}
	if len(topics) > 0 {
		out = s.publish(out, slices.Compact(topics)...)
	}
	return out
}

func (s *State) mirrorsOf(ended map[core.MirrorKey][]core.TopicID) (list []core.MirrorKey) {
	for at := range ended {
		list = append(list, at)
	}
	slices.SortFunc(list, compareMirrors)
	return list
}

// confirmRelease ends a release before its lease: the destination has said that it claims nothing any more.
func (s *State) confirmRelease(now core.Now, out outcome, k LedgerKey, c UnregisterTopic, content CommandRecord, answer UnregisterAnswered) outcome {
	out.Events = append(s.numbered(k, c.Source.Name, c.Generation, content, perr.None),
		ReleaseEnded{Cluster: k.Mirror.Cluster, Mirror: k.Mirror.Mirror, Topics: []core.TopicID{k.Topic}})
	return s.ungate(now, out, k, c, answer)
}

func (s *State) endRelease(ev ReleaseEnded) {
	for _, t := range ev.Topics {
		k := key(ev.Cluster, ev.Mirror, t)
		e, known := s.entries[k]
		if !known {
			continue
		}
		e.leaving = false
		s.entries[k] = e
		delete(s.leaveBy, k)
	}
}
