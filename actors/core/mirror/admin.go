package mirror

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

func settings(list []SettingRecord) map[string]string {
	m := make(map[string]string, len(list))
	for _, r := range list {
		m[r.Key] = r.Value
	}
	return m
}

func settingRecords(m map[string]string) (list []SettingRecord) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, SettingRecord{Key: k, Value: m[k]})
	}
	return list
}

func (s *State) decideCreate(now core.Now, c CreateMirror) (out outcome) {
	answer := Answered{Ref: c.Ref}
	switch {
	case s.exists:
		answer.Code, answer.Text = perr.ClusterMirrorAlreadyExists, fmt.Sprintf("mirror %q exists already, from cluster %s: choose another name, or go on with this one", s.name, s.source)
	case c.Config["bootstrap.servers"] == "" || c.SourceCluster == "":
		answer.Code, answer.Text = perr.InvalidRequest, fmt.Sprintf("mirror %q needs bootstrap.servers and the id of the source cluster", c.Mirror)
	default:
		out.Events = append(out.Events, DefaultsRead{c.Defaults}, MirrorCreated{Mirror: c.Mirror, Source: c.SourceCluster, Config: settingRecords(c.Config)})
		s.startClock(now, &out)
	}
	return reply(out, answer)
}

func (s *State) decideConfigure(c ConfigureMirror) (out outcome) {
	if !s.exists {
		return reply(out, Answered{Ref: c.Ref, Code: perr.UnknownClusterMirror, Text: s.unknown()})
	}
	out.Events = append(out.Events, MirrorConfigured{Config: settingRecords(c.Config)})
	next := &State{name: s.name, source: s.source, config: c.Config, include: s.include, exclude: s.exclude}
	next.defaults = s.defaults
	next.watch(&out)
	for _, t := range s.sorted() {
		w := next.turn(core.Now{}, t)
		w.tell()
		w.into(&out)
	}
	return reply(out, Answered{Ref: c.Ref})
}

func (s *State) decideDelete(c DeleteMirror) (out outcome) {
	answer := Answered{Ref: c.Ref}
	if !s.exists {
		answer.Code, answer.Text = perr.UnknownClusterMirror, s.unknown()
		return reply(out, answer)
	}
	for _, t := range s.sorted() {
		if t.phase() != Stopped {
			answer.Code = perr.ClusterMirrorNotEmpty
			answer.Text = fmt.Sprintf("topic %q of mirror %q is %s: stop its topics first (--stop --topics '.*')", t.Name, s.name, t.phase())
			return reply(out, answer)
		}
	}
	out.Events = append(out.Events, MirrorDeleted{Mirror: s.name})
	gone := Publish{}
	for _, t := range s.sorted() {
		gone.Facts = append(gone.Facts, image.MirrorTopicChanged{ID: t.Topic, Topic: image.MirrorTopic{State: image.MirrorNone}})
	}
	out.Late = append(out.Late, WatchSource{Mirror: s.name}, gone)
	return reply(out, answer)
}

func (s *State) unknown() string {
	return fmt.Sprintf("this cluster has no mirror %q: create it first (--create --mirror %s --mirror-config FILE)", s.name, s.name)
}

func (s *State) decideStart(now core.Now, c StartTopics) (out outcome) {
	answer := TopicsAnswered{Ref: c.Ref}
	if !s.exists {
		answer.Code, answer.Text = perr.UnknownClusterMirror, s.unknown()
		return reply(out, answer)
	}
	for _, st := range c.Topics {
		answer.Topics = append(answer.Topics, s.start(now, st, &out))
	}
	if c.Include != nil || c.Exclude != nil {
		ev := PatternsChanged{Include: merged(s.include, c.Include), Exclude: merged(s.exclude, c.Exclude), Desired: int8(c.Type)}
		out.Events = append(out.Events, ev)
		out.Late = append(out.Late, WatchSource{Mirror: s.name, Config: s.config, Include: ev.Include, Exclude: ev.Exclude})
	}
	return reply(out, answer)
}

func merged(old, more []string) []string {
	list := slices.Clone(old)
	for _, p := range more {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// decideObserve starts what the patterns found. What cannot be started stays as it is at the source's next
// listing; the operator sees it when he names it.
func (s *State) decideObserve(now core.Now, c ObserveSource) (out outcome) {
	for _, st := range c.Topics {
		if s.exists && s.topics[st.Source.ID] == nil {
			st.Type = s.desired
			s.start(now, st, &out)
		}
	}
	return out
}

// start begins to mirror one topic: its fact leaves before it is made, so that no producer writes to it for
// an instant.
func (s *State) start(now core.Now, st StartTopic, out *outcome) TopicResult {
	result := TopicResult{Topic: st.Source.ID, Name: st.Source.Name}
	if result.Code, result.Text = s.refuseStart(st); result.Code != perr.None {
		return result
	}
	ev := TopicAdded{
		Topic: st.Source.ID, Name: st.Source.Name, Count: st.Source.Partitions, Config: settingRecords(st.Source.Config),
		Desired: int8(st.Type), Incarnation: st.Fresh, Session: 1,
	}
	w := s.turn(now, added(ev))
	w.out.Events = append(w.out.Events, ev)
	publish := Publish{Facts: s.facts(w.t)}
	if readOnlyBeforeMade {
		w.do(publish)
		w.create()
	} else {
		w.create()
		w.do(publish)
	}
	w.into(out)
	if st.Type == TypeSync {
		result.Warning = fmt.Sprintf("topic %q becomes SYNC once its lag is zero", st.Source.Name)
	}
	return result
}

func (s *State) refuseStart(st StartTopic) (perr.Code, string) {
	src, local := st.Source, st.Local
	if t := s.topics[src.ID]; t != nil {
		if t.phase() == Stopped {
			return perr.InvalidClusterMirrorState, fmt.Sprintf("topic %q was stopped and is writable here; what was written since would be lost: delete the topic here to mirror it again from the start", t.Name)
		}
		return perr.MirrorTopicNotStopped, fmt.Sprintf("topic %q is mirrored already (%s): nothing to start; --alter changes its type", t.Name, t.phase())
	}
	switch {
	case src.Partitions <= 0:
		return perr.UnknownTopicOrPartition, fmt.Sprintf("the source has no topic %q", src.Name)
	case local.Exists && local.ID != src.ID:
		return perr.InconsistentTopicId, fmt.Sprintf("topic %q has id %s here and %s at the source: delete the local one, after a --stop if a mirror fills it", src.Name, local.ID, src.ID)
	case local.Exists && local.Mirror != "" && local.Mirror != s.name && local.State != image.MirrorStopped:
		return perr.TopicAlreadyInClusterMirror, fmt.Sprintf("topic %q belongs to mirror %q: stop it there first", src.Name, local.Mirror)
	case local.Exists && local.Records > 0:
		return perr.InvalidClusterMirrorState, fmt.Sprintf("topic %q holds %d records here that did not come from the source, and would be cut: delete it here first", src.Name, local.Records)
	}
	return perr.None, ""
}

func (w *turn) create() {
	w.do(CreateLocalTopic{Topic: SourceTopic{
		ID: w.t.Topic, Name: w.t.Name, Partitions: int32(len(w.t.Partitions)), Config: settings(w.t.Config),
	}})
	w.happen(StepDriven{Topic: w.t.Topic, Due: w.now.Mono + driveNs})
}

func (s *State) decideMade(now core.Now, c LocalTopicAnswered) outcome {
	t := s.topics[c.Topic]
	if t == nil || t.Created || t.phase() == Stopped || passes(c.Code) {
		return outcome{}
	}
	w := s.turn(now, t)
	if c.Code != perr.None {
		w.happen(TopicFailed{Topic: t.Topic, Text: fmt.Sprintf("topic %q cannot be made here: %s (%s)", t.Name, c.Text, c.Code)})
		return w.out
	}
	w.happen(LocalTopicMade{Topic: t.Topic})
	w.fetch()
	return w.out
}

// decideAlter changes what is wanted, with one event per topic (F53).
func (s *State) decideAlter(now core.Now, c AlterType) (out outcome) {
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
		answer.Topics = append(answer.Topics, w.alter(c.Type))
		w.into(&out)
	}
	return reply(out, answer)
}

func (w *turn) alter(want Type) TopicResult {
	t := w.t
	result := TopicResult{Topic: t.Topic, Name: t.Name}
	switch {
	case t.phase() == Stopping:
		result.Code, result.Text = perr.MirrorTopicBeingStopped, fmt.Sprintf("topic %q is being stopped (%s)", t.Name, t.step())
		return result
	case t.phase() == Stopped:
		result.Code, result.Text = perr.TopicNotInClusterMirror, fmt.Sprintf("topic %q was stopped: it is no longer mirrored", t.Name)
		return result
	case t.Pending == pendingSwitchover && want != t.wants():
		result.Code, result.Text = perr.MirrorTopicBeingStopped, fmt.Sprintf("topic %q is being switched over: cluster %s hands it over or says why not within its lockstep.switchover.timeout.ms", t.Name, w.s.source)
		return result
	case want != t.wants():
		w.happen(DesiredTypeChanged{Topic: t.Topic, Desired: int8(want)})
		if want == TypeAsync && (t.phase() == Registering || t.phase() == Arming || t.phase() == Sync) {
			w.demote(reasonOperator, 0, "")
		} else {
			w.tell()
		}
	}
	if want == TypeSync && t.phase() != Sync {
		result.Warning = fmt.Sprintf("topic %q becomes SYNC once its lag is zero", t.Name)
		if w.minISR() == 1 && t.live[0].at != 0 {
			result.Warning += "; min.insync.replicas is 1 here, so SYNC would rest on a single volume"
		}
	}
	return result
}

func (s *State) notMine(id core.TopicID) TopicResult {
	return TopicResult{Topic: id, Code: perr.TopicNotInClusterMirror, Text: fmt.Sprintf("topic %s is not in mirror %q", id, s.name)}
}

func (s *State) decideRecover(now core.Now, c RecoverTopics) (out outcome) {
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
		result := TopicResult{Topic: id, Name: t.Name}
		w := s.turn(now, t)
		switch t.phase() {
		case Failed, Orphaned:
			w.happen(TopicRecovered{Topic: id, Session: t.Session + 1})
			if !w.t.Created {
				w.create()
			}
			w.tell()
		case Diverged:
			if c.AcceptSource {
				result.Warning = w.accept(c.Fresh)
				break
			}
			result.Code = perr.InvalidClusterMirrorState
			result.Text = fmt.Sprintf("topic %q diverged from its source; recovery would cut records: --stop keeps this copy and makes it writable, --recover --accept-source takes the source's and moves what is cut to quarantine", t.Name)
		default:
			result.Code, result.Text = perr.InvalidClusterMirrorState, fmt.Sprintf("topic %q is %s: only a FAILED, ORPHANED or DIVERGED topic needs to be recovered", t.Name, t.phase())
		}
		w.into(&out)
		answer.Topics = append(answer.Topics, result)
	}
	return reply(out, answer)
}

func (s *State) decideDeleted(c LocalTopicDeleted) (out outcome) {
	t := s.topics[c.Topic]
	if t == nil {
		return out
	}
	out.Events = append(out.Events, TopicForgotten(c))
	off := s.turn(core.Now{}, t)
	off.t.Gone = true
	off.fetch()
	out.Late = append(off.out.Late, Publish{Facts: []image.Fact{image.MirrorTopicChanged{ID: c.Topic, Topic: image.MirrorTopic{State: image.MirrorNone}}}})
	return out
}

func reply(out outcome, e Effect) outcome {
	out.Late = append(out.Late, e)
	return out
}
