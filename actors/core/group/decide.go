package group

import (
	"maps"
	"slices"

	"lockstep/actors/core"
)

type outcome = core.Outcome[Event, Effect]

func decide(s *State, now core.Now, cmd Command) outcome {
	switch c := cmd.(type) {
	case Resume:
		return s.resume(c, now)
	case JoinGroup:
		if s.hasConsumers(c.Group) {
			return s.joinAsClassic(c, now)
		}
		return s.turn(c.Group, now, func(t *turn) { t.join(c) })
	case SyncGroup:
		if s.hasConsumers(c.Group) {
			return s.syncAsClassic(c, now)
		}
		return s.turn(c.Group, now, func(t *turn) { t.sync(c) })
	case Heartbeat:
		if s.hasConsumers(c.Group) {
			return s.beatAsClassic(c, now)
		}
		return s.heartbeat(c, now)
	case LeaveGroup:
		if s.hasConsumers(c.Group) {
			return s.leaveAsClassic(c, now)
		}
		return s.turn(c.Group, now, func(t *turn) { t.leave(c) })
	case OffsetCommit:
		return s.commit(c, now)
	case OffsetFetch:
		return s.fetch(c)
	case TxnOffsetCommit:
		return s.commitInTxn(c, now)
	case EndTxnOffsets:
		return s.endTxn(c)
	case DescribeGroup:
		return s.describe(c, now.Mono)
	case ListGroups:
		return s.list(c, now.Mono)
	case ConsumerBeat:
		return s.consumerBeat(c, now)
	case DescribeConsumers:
		return s.describeConsumers(c)
	case ConfigureGroup:
		return s.configure(c)
	case ListConfigured:
		return s.listConfigured(c)
	case DescribeConfig:
		return s.config(c)
	case DeleteGroup:
		return s.delete(c, now.Mono)
	case DeleteOffsets:
		return s.deleteOffsets(c, now.Mono)
	case Tick:
		return s.tick(now)
	default:
		panic("group: unknown command")
	}
}

// turn is one decision about the membership of one group: it works on a copy, which becomes the
// group's live part in one volatile event, after the durable ones that it led to.
type turn struct {
	*live
	group    string
	now      int64
	age      int64 // of the shard
	known    bool  // the group exists
	held     int64
	kept     int64
	settings Settings
	out      outcome
}

func (s *State) turn(group string, now core.Now, do func(*turn)) outcome {
	t := s.begin(group, now)
	do(t)
	t.end()
	s.arm(&t.out, t.earliest())
	return t.out
}

func (s *State) begin(group string, now core.Now) *turn {
	return &turn{live: s.current(group, now.Mono), group: group, now: now.Mono, age: s.ageAt(now), settings: s.settings, held: s.held, kept: s.kept,
		known: s.known(group)}
}

func (t *turn) end() {
	l := t.live
	if len(l.members) == 0 && len(l.pending) == 0 {
		l = nil
	}
	t.event(MembershipChanged{Group: t.group, live: l})
}

func (t *turn) event(e Event) { t.out.Events = append(t.out.Events, e) }

// reply answers late: an assignment or a generation that a crash could unsay was never told (D25).
func (t *turn) reply(e Effect) { answer(&t.out, e) }

func answer(out *outcome, e Effect) {
	if answerOnlyDurable {
		out.Late = append(out.Late, e)
	} else {
		out.Early = append(out.Early, e)
	}
}

// arm asks for a Tick unless an earlier one is already on its way, which will look again.
func (s *State) arm(out *outcome, at int64) {
	if at == 0 || s.armed != 0 && s.armed <= at {
		return
	}
	out.Events = append(out.Events, TimerArmed{At: at})
	out.Early = append(out.Early, ArmTimer{At: at})
}

func (s *State) resume(c Resume, now core.Now) outcome {
	out := outcome{Events: []Event{SettingsChanged(c), RetentionLooked{At: now.Mono, Age: s.ageAt(now)}}}
	first := now.Mono + c.Settings.RetentionCheckMs*ms
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		if s.groups[name].consumers != nil {
			events, at := s.resumeConsumers(name, now, c.Settings)
			out.Events = append(out.Events, events...)
			if at != 0 && at < first {
				first = at
			}
		}
		if s.live[name] != nil || len(s.groups[name].members) == 0 {
			continue
		}
		l := s.current(name, now.Mono)
		out.Events = append(out.Events, MembershipChanged{Group: name, live: l})
		if at := l.earliest(); at < first {
			first = at
		}
	}
	s.arm(&out, first)
	return out
}

// tick looks at every group that is due and arms the next look.
func (s *State) tick(now core.Now) outcome {
	var out outcome
	first := s.nextLook()
	if first != 0 && first <= now.Mono {
		out.Events = s.expire(now)
		first = now.Mono + s.settings.RetentionCheckMs*ms
	}
	for _, name := range slices.Sorted(maps.Keys(s.live)) {
		l := s.live[name]
		if at := l.earliest(); at != 0 && at <= now.Mono {
			t := s.begin(name, now)
			t.expire()
			t.end()
			l = t.live
			out.Events = append(out.Events, t.out.Events...)
			out.Early = append(out.Early, t.out.Early...)
			out.Late = append(out.Late, t.out.Late...)
		}
		if at := l.earliest(); at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.beats)) {
		at := s.beats[name].earliest()
		if at != 0 && at <= now.Mono {
			events, next := s.overdue(name, now)
			out.Events = append(out.Events, events...)
			if at = s.beats[name].earliestAfter(now.Mono); next != 0 && (at == 0 || next < at) {
				at = next
			}
		}
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	switch {
	case first != 0 && (s.armed <= now.Mono || first < s.armed):
		out.Events = append(out.Events, TimerArmed{At: first})
		out.Early = append(out.Early, ArmTimer{At: first})
	case first == 0 && s.armed <= now.Mono && s.armed != 0:
		out.Events = append(out.Events, TimerArmed{})
	}
	return out
}
