package mirror

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"lockstep/actors/core"
)

// describe renders the mirror at an instant. It is sent as a late effect, so it says only what is on disk.
func describe(s *State, now core.Now) Description {
	d := Description{
		Mirror: s.name, Exists: s.exists, SourceCluster: s.source, Config: maps.Clone(s.config),
		Include: slices.Clone(s.include), Exclude: slices.Clone(s.exclude),
	}
	for _, t := range s.sorted() {
		d.Topics = append(d.Topics, s.describeTopic(t, now))
	}
	slices.SortStableFunc(d.Topics, func(a, b TopicDescription) int { return cmp.Compare(a.Name, b.Name) })
	return d
}

func (s *State) describeTopic(t *topic, now core.Now) TopicDescription {
	d := TopicDescription{
		Topic: t.Topic, Name: t.Name, Phase: t.phase(), Desired: t.wants(), Recovery: t.Recovery, Reporting: t.Standing,
		Epoch: t.Epoch, Generation: t.Generation, Release: t.Release, Incarnation: t.Incarnation, Session: t.Session,
		Armed: t.armed(), T: ClaimTime{t.Clock, t.Index}, RetryAttempt: t.RetryAttempt, ErrorMessage: t.Text, Step: t.step(),
		Verb: t.verb(), Era: t.Era, Moving: t.Pending == pendingSwitchover && t.phase() != Stopping, Telling: t.Pending == pendingFailover, Heard: Heard(t.Heard),
	}
	_, d.ContactWall = t.contact()
	if t.phase() == Sync {
		d.Effective = TypeSync
		d.Partial = s.partial(t, now)
		d.Unconfirmed = s.unconfirmed(t, now)
		d.ZeroRPO = s.zeroRPO(t, now)
	}
	d.Class = s.classOf(t)
	d.State = t.state(d)
	if d.ErrorMessage == "" && t.phase() == CatchingUp && s.belowMinClass(t) {
		d.ErrorMessage = belowMinClassText
		if s.unsynced(t) {
			d.ErrorMessage = unsyncedText
		}
	}
	if t.phase() == Diverged {
		d.ErrorMessage += divergedRemedy
	}
	for i := range t.Partitions {
		p := s.describePartition(t, i, now)
		if d.ErrorMessage == "" && p.ErrorMessage != "" {
			d.ErrorMessage = fmt.Sprintf("partition %d: %s", i, p.ErrorMessage)
		}
		d.Partitions = append(d.Partitions, p)
	}
	return d
}

const divergedRemedy = "; --stop makes the copy here writable, --recover --accept-source takes the source's and moves what is cut to quarantine"

// state is the one word or sentence an operator reads first. SYNC always comes with T, and not at all while a
// partition is not gated or the claim is older than the lease (C4, I44).
func (t *topic) state(d TopicDescription) string {
	switch {
	case d.Partial:
		return fmt.Sprintf("PARTIAL, complete until %s", instant(t.Clock))
	case d.Unconfirmed && d.ContactWall == 0:
		return fmt.Sprintf("%s until %s, unconfirmed since the start of this process", d.Class.claims(), instant(t.Clock))
	case d.Unconfirmed:
		return fmt.Sprintf("%s until %s, unconfirmed since %s", d.Class.claims(), instant(t.Clock), instant(d.ContactWall))
	case t.phase() == Sync:
		if t.Pending == pendingSwitchover {
			return fmt.Sprintf("%s, complete until %s, being switched over", d.Class.claims(), instant(t.Clock))
		}
		if d.ZeroRPO {
			return fmt.Sprintf("%s, RPO 0, complete until %s", d.Class.claims(), instant(t.Clock))
		}
		return fmt.Sprintf("%s, complete until %s", d.Class.claims(), instant(t.Clock))
	case t.phase() == Arming:
		return fmt.Sprintf("ARMING %d of %d", d.Armed, len(t.Partitions))
	case t.phase() == CatchingUp && t.Recovery:
		return "CATCHING_UP, recovering"
	case t.phase() == Stopping && t.verb() != VerbStop:
		return fmt.Sprintf("STOPPING (%s) for a %s, era %d%s", t.step(), t.verb(), t.Era, t.news())
	case t.phase() == Stopping:
		return fmt.Sprintf("STOPPING (%s)", t.step())
	case t.phase() == Stopped && t.verb() != VerbStop:
		return fmt.Sprintf("STOPPED by a %s, era %d%s", t.verb(), t.Era, t.news())
	}
	return t.phase().String()
}

// news says whether the old source knows of a failover.
func (t *topic) news() string {
	switch {
	case t.verb() != VerbFailover:
		return ""
	case t.Pending == pendingFailover:
		return ", the old source has not answered yet"
	case Heard(t.Heard) == HeardObeyed:
		return ", the old source takes no more writes"
	case Heard(t.Heard) == HeardRefused:
		return ", the old source goes on taking writes"
	}
	return ""
}

func instant(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (s *State) describePartition(t *topic, i int, now core.Now) PartitionDescription {
	p, l := t.Partitions[i], t.live[i]
	d := PartitionDescription{
		Partition: int32(i), State: t.phase().String(), SourceOffset: core.Unknown, DestinationOffset: core.Unknown, Lag: -1,
		Armed: p.Armed, ZeroRPOFrom: p.From, T: l.claim, RetryAttempt: l.failures, ErrorMessage: l.text,
		SourceEpoch: core.NoEpoch, GatedIn: p.GatedIn, Refused: l.refusedAt != 0, LastMirroredEpoch: p.LME,
		Floor: l.floor, SourceEnd: p.StopAt,
	}
	if c := s.classOf(t); c == ClassReported && reportedIsNotZeroRPO || c == ClassUnsynced {
		d.ZeroRPOFrom = core.Unknown
	}
	if l.at != 0 {
		d.SourceOffset, d.DestinationOffset, d.SourceEpoch = l.progress.SourceHW, l.progress.LEO, l.progress.SourceEpoch
		d.Lag = int64(max(0, l.progress.SourceHW-l.progress.LEO))
	}
	if t.phase() == Stopped { // nobody asks the source any more: what its last answer was, or that none came, is of no use
		d.SourceOffset, d.Lag, d.RetryAttempt, d.ErrorMessage = core.Unknown, -1, 0, ""
	}
	if p.Fenced {
		d.DestinationOffset = p.End
		if p.StopAt != core.Unknown && p.End != p.StopAt {
			d.ErrorMessage = fmt.Sprintf("ends at %d here, and the source ended at %d", p.End, p.StopAt)
		}
	}
	if p.Text != "" {
		d.ErrorMessage = p.Text
	}
	switch {
	case t.phase() == Stopped:
	case l.refusedAt != 0:
		d.Failing, d.FailingSinceWall = true, l.refusedWall
	case l.failedAt != 0:
		d.Failing, d.FailingSinceWall = true, l.failedWall
	}
	if t.phase() == Sync && !s.gated(t, i, now) {
		d.State = "NOT CONFIRMED"
		if l.refusedAt != 0 {
			d.State = "NOT GATED"
		}
	}
	return d
}
