package registration

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// fenceAnswerNs is how long the answer to a switchover waits for its outcome. The destination asks again at once, so a
// lost answer costs little and the pause of producers is not rounded up to a retry.
const fenceAnswerNs = int64(1e9)

// decideSupersede is the command of a mirror that takes a topic over: a switchover, or the news of a failover. One
// that has taken over hears so again however often it asks: the first answer may be lost.
func (s *State) decideSupersede(now core.Now, c SupersedeTopic) (out outcome) {
	answer := SupersedeAnswered{Ref: c.Ref, Topic: c.Topic, Name: c.Name}
	if code, text := s.wrongTopic(c.Topic, c.Name, c.Source); code != perr.None {
		answer.Code, answer.Text = code, text
		return reply(out, answer)
	}
	if !c.Era.Plausible() {
		answer.Code, answer.Text = perr.InvalidRequest, fmt.Sprintf("era %d of topic %q cannot be one: the message is damaged or forged", c.Era, c.Name)
		return reply(out, answer)
	}
	if r := s.successions[c.Topic]; r.is(Superseded, c.Key) && (c.Mode == ModeSwitchover || c.Era <= r.Next) {
		return reply(out, s.outcomeOf(answer, c.Key))
	}
	if c.Mode == ModeFailover {
		return s.decideClaim(c, answer)
	}
	return s.decideSwitchover(now, c, answer)
}

// decideSwitchover begins the planned move (C8): the topic takes no produce from the moment its leaders apply the fence,
// which each of them reports with its LEO.
func (s *State) decideSwitchover(now core.Now, c SupersedeTopic, answer SupersedeAnswered) (out outcome) {
	k := LedgerKey{c.Key, c.Topic}
	content := CommandRecord{Mode: int8(c.Mode)}
	e, r := s.entries[k], s.successions[c.Topic]
	if newest, text := e.superseded(c.Generation, content); text != "" || c.Generation == 0 {
		answer.Code, answer.Text, answer.Newest = perr.InvalidSyncRegistration, text, newest
		if text == "" {
			answer.Text = "a switchover must carry a generation"
		}
		return reply(out, answer)
	}
	again := c.Generation == e.generation
	if again && r.is(Fenced, c.Key) {
		return s.await(now, out, answer, c.Key)
	}
	if again && endedFenceStaysEnded {
		return reply(out, s.outcomeOf(answer, c.Key))
	}
	if answer.Code, answer.Text = s.refuseSwitchover(k, c); answer.Code != perr.None {
		out.Events = s.numbered(k, c.Source.Name, c.Generation, content, answer.Code)
		return reply(out, answer)
	}
	out.Events = []Event{TopicFenced{
		Cluster: c.Key.Cluster, Mirror: c.Key.Mirror, Topic: c.Topic, Name: c.Source.Name, Number: s.fences + 1,
		Era: max(r.Era, c.Source.Era, c.Era-1) + 1, Generation: c.Generation, Content: content,
	}}
	out = s.publish(out, c.Topic)
	out = armFence(now, out, c.Topic, c.Patience)
	return s.await(now, out, answer, c.Key)
}

func armFence(now core.Now, out outcome, topic core.TopicID, patience int64) outcome {
	deadline := now.Mono + patience
	out.Events = append(out.Events, FenceArmed{Topic: topic, Deadline: deadline})
	out.Early = append(out.Early, ArmTimer{At: deadline})
	return out
}

func (s *State) await(now core.Now, out outcome, answer SupersedeAnswered, by core.MirrorKey) outcome {
	deadline := now.Mono + fenceAnswerNs
	out.Events = append(out.Events, FenceAwaited{Answer: answer, By: by, Deadline: deadline})
	out.Early = append(out.Early, ArmTimer{At: deadline})
	return out
}

func (s *State) refuseSwitchover(k LedgerKey, c SupersedeTopic) (perr.Code, string) {
	r := s.successions[c.Topic]
	switch {
	case c.Source.Mirrored:
		return perr.InvalidClusterMirrorState, fmt.Sprintf("topic %q follows a mirror in cluster %s itself: switch over from the cluster that takes its writes", c.Source.Name, s.cluster)
	case r.standing() == Superseded:
		return perr.InvalidClusterMirrorState, fmt.Sprintf("cluster %s has taken over topic %q (era %d): switch over from there", r.Cluster, c.Source.Name, r.Next)
	case r.standing() == Fenced && r.by() != c.Key:
		return perr.InvalidClusterMirrorState, fmt.Sprintf("topic %q is being moved to cluster %s: wait for the end of that", c.Source.Name, r.Cluster)
	case !s.entries[k].registered && onlyRegisteredTakesOver:
		return perr.InvalidSyncRegistration, s.notRegistered(k, c.Source.Name)
	}
	return perr.None, ""
}

func (s *State) notRegistered(k LedgerKey, name string) string {
	if n := s.released(k); n != 0 {
		return fmt.Sprintf("cluster %s does not gate topic %q on mirror %s: an operator released it (release %d)", s.cluster, name, k.Mirror, n)
	}
	return fmt.Sprintf("cluster %s does not gate topic %q on mirror %s", s.cluster, name, k.Mirror)
}

// decideClaim is the news that a mirror has failed over. It is obeyed from the mirror of a standing registration alone,
// whose floors kept this cluster from acknowledging what the mirror does not have; from anybody else it would let a
// stranger stop a topic (F18). The era decides, not the generation: a destination whose journal was restored has opened
// all the same, and two clusters must not go on taking writes.
func (s *State) decideClaim(c SupersedeTopic, answer SupersedeAnswered) (out outcome) {
	k := LedgerKey{c.Key, c.Topic}
	r := s.successions[c.Topic]
	newest := max(r.Era, c.Source.Era)
	if r.standing() == Superseded {
		newest = max(newest, r.Next)
	}
	switch {
	// A mirror that leaves has not been told that its claim is over, and nothing was acknowledged without it yet (C4).
	case !s.entries[k].gating() && onlyRegisteredTakesOver:
		answer.Code = perr.InvalidSyncRegistration
		answer.Text = s.notRegistered(k, c.Source.Name) + ": it goes on taking writes"
	case c.Source.Mirrored:
		answer.Code = perr.InvalidClusterMirrorState
		answer.Text = fmt.Sprintf("topic %q follows a mirror in cluster %s itself", c.Source.Name, s.cluster)
	case c.Era <= newest && onlyHigherEraObeyed:
		answer.Code, answer.Era = perr.InvalidClusterMirrorState, newest
		answer.Text = fmt.Sprintf("era %d of topic %q is not above %d, which cluster %s knows of", c.Era, c.Source.Name, newest, s.cluster)
		if r.standing() == Superseded {
			answer.Text += fmt.Sprintf(": cluster %s has taken it over", r.Cluster)
		}
	default:
		out.Events = []Event{TopicSuperseded{
			Cluster: c.Key.Cluster, Mirror: c.Key.Mirror, Topic: c.Topic, Name: c.Source.Name, Number: s.fences + 1,
			Era: c.Era, Generation: c.Generation, Content: CommandRecord{Mode: int8(c.Mode)},
		}}
		out = s.publish(out, c.Topic)
		out = s.answerAsking(out, c.Topic)
		return reply(out, s.after(out.Events).outcomeOf(answer, c.Key))
	}
	out.Events = append(out.Events, EraIgnored{Topic: c.Topic})
	return reply(out, answer)
}

// decideFenced collects what the leaders of a fenced topic report. In the step in which the mirror's floor has reached
// the LEO of every partition, the topic is superseded: nothing this cluster acknowledged, with whatever acks, is missing
// there (I47). An older leader's report says nothing of what a newer one appended before it heard of the fence, and one
// of an earlier fence nothing of what was appended since that one was lifted.
func (s *State) decideFenced(c ReportFenced) (out outcome) {
	r := s.successions[c.ID.Topic]
	d := s.draining[c.ID.Topic]
	e := s.entries[LedgerKey{r.by(), c.ID.Topic}]
	if r.standing() == TakesWrites || !r.Planned || c.Number != r.Number && thisFenceOnly || c.ID.Index < 0 || c.ID.Index >= e.partitions {
		return out
	}
	report := FenceReport{Partition: c.ID.Index, LeaderEpoch: c.LeaderEpoch, LEO: c.LEO, Floor: core.Unknown}
	for _, f := range c.Floors {
		if f.Key == r.by() && f.Epoch == e.epoch {
			report.Floor = f.Floor
		}
	}
	old, known := d.report(c.ID.Index)
	if known && (old == report || report.LeaderEpoch < old.LeaderEpoch && newestLeaderReports) {
		return out
	}
	out.Events = append(out.Events, FenceReported{Topic: c.ID.Topic, Report: report})
	d = d.with(report)
	if r.standing() == Superseded {
		return s.moveEnd(out, r, report)
	}
	if missing(d, e.partitions) != "" {
		return out
	}
	return s.supersede(out, r, d)
}

// supersede is the commit point of a switchover.
func (s *State) supersede(out outcome, r SuccessionRecord, d draining) outcome {
	ev := TopicSuperseded{
		Cluster: r.Cluster, Mirror: r.Mirror, Topic: r.Topic, Name: r.Name, Number: r.Number, Era: r.Next, Planned: true,
		Generation: r.Generation, Content: CommandRecord{Mode: int8(ModeSwitchover)},
	}
	for _, report := range d.reports {
		ev.Ends = append(ev.Ends, EndRecord{Partition: report.Partition, LeaderEpoch: report.LeaderEpoch, LEO: report.LEO})
	}
	out.Events = append(out.Events, ev)
	out = s.publish(out, r.Topic)
	return s.answerAsking(out, r.Topic)
}

// moveEnd notes that a leader elected after the commit ends elsewhere: the successor, which still mirrors, would wait
// for an offset that nobody has.
func (s *State) moveEnd(out outcome, r SuccessionRecord, report FenceReport) outcome {
	ends := slices.Clone(r.Ends)
	for i, end := range ends {
		if end.Partition == report.Partition && report.LeaderEpoch > end.LeaderEpoch && report.LEO != end.LEO {
			ends[i] = EndRecord{Partition: end.Partition, LeaderEpoch: report.LeaderEpoch, LEO: report.LEO}
			out.Events = append(out.Events, TopicSuperseded{
				Cluster: r.Cluster, Mirror: r.Mirror, Topic: r.Topic, Name: r.Name, Number: r.Number, Era: r.Next, Planned: true,
				Generation: r.Generation, Content: CommandRecord{Mode: int8(ModeSwitchover)}, Ends: ends,
			})
		}
	}
	return out
}

// missing says what keeps a fenced topic from being superseded, "" if nothing does.
func missing(d draining, partitions int32) string {
	for p := range partitions {
		report, known := d.report(p)
		switch {
		case !known && fenceOnEveryLeader:
			return fmt.Sprintf("no leader of partition %d has applied the fence", p)
		case report.Floor < report.LEO && floorReachesEnd:
			return fmt.Sprintf("partition %d ends at %d, and the mirror is durable up to %d", p, report.LEO, max(report.Floor, 0))
		}
	}
	return ""
}

// outcomeOf fills in how a switchover or failover of a mirror stands.
func (s *State) outcomeOf(answer SupersedeAnswered, by core.MirrorKey) SupersedeAnswered {
	r := s.successions[answer.Topic]
	answer.Outcome, answer.Era, answer.Text = OutcomeEnded, r.Era, r.Text
	switch {
	case r.is(Fenced, by):
		answer.Outcome, answer.Era = OutcomeFencing, r.Next
		answer.Text = missing(s.draining[answer.Topic], s.entries[LedgerKey{by, answer.Topic}].partitions)
	case r.is(Superseded, by):
		answer.Outcome, answer.Era = OutcomeSuperseded, r.Next
		for _, e := range r.Ends {
			answer.Ends = append(answer.Ends, End(e))
		}
	case r.Text == "":
		answer.Text = "the fence was lifted"
	}
	return answer
}

// answerAsking answers everybody who waits for the outcome of a topic's fence.
func (s *State) answerAsking(out outcome, topics ...core.TopicID) outcome {
	next := s.after(out.Events)
	for _, w := range s.asking {
		if slices.Contains(topics, w.Answer.Topic) {
			out.Events = append(out.Events, FenceAnswered{w.Answer.Ref})
			out.Late = append(out.Late, next.outcomeOf(w.Answer, w.By))
		}
	}
	return out
}

// tickFences lifts fences whose time is over, decided here and journaled: the destination may be gone (C8). Answers that
// have waited long enough say how far it is.
func (s *State) tickFences(now core.Now, out outcome) outcome {
	for _, topic := range s.moving() {
		r, d := s.successions[topic], s.draining[topic]
		if r.standing() != Fenced || d.deadline == 0 || d.deadline > now.Mono || !fenceTimesOut {
			continue
		}
		text := "timed out: " + missing(d, s.entries[LedgerKey{r.by(), topic}].partitions)
		out.Events = append(out.Events, FenceLifted{Topic: topic, Number: r.Number, Text: text})
		out = s.publish(out, topic)
		out = s.answerAsking(out, topic)
	}
	next := s.after(out.Events)
	for _, w := range next.asking {
		if w.Deadline <= now.Mono {
			out.Events = append(out.Events, FenceAnswered{w.Answer.Ref})
			out.Late = append(out.Late, next.outcomeOf(w.Answer, w.By))
		}
	}
	return out
}
