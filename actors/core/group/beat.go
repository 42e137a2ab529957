package group

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
	"lockstep/protocol/perr"
)

// patternsEvery is how often patterns are matched with all names while the image changes, ms; as in Kafka.
const patternsEvery = 10_000

// maxPatterns is how many different patterns a group may have: each is matched with every name.
const maxPatterns = 32

// beat is one decision about a heartbeat of the consumer protocol.
type beat struct {
	req ConsumerBeat
	s   *State
	g   *consumers // never nil; empty for a group that is not there yet
	now core.Now
	out outcome
}

func (s *State) consumerBeat(c ConsumerBeat, now core.Now) outcome {
	b := &beat{req: c, s: s, g: newConsumers(), now: now}
	if hard := s.groups[c.Group]; hard != nil && hard.consumers != nil {
		b.g = hard.consumers
	}
	code, text := b.check()
	switch {
	case code != 0:
		b.refuse(code, text)
	case c.Epoch < 0:
		b.leave()
	default:
		b.live()
	}
	return b.out
}

func (b *beat) refuse(code perr.Code, text string) {
	answer(&b.out, ConsumerBeaten{Ref: b.req.Ref, Code: code, Text: text, MemberID: b.req.MemberID, Epoch: b.req.Epoch})
}

func (b *beat) event(e Event) { b.out.Events = append(b.out.Events, e) }

// live is the heartbeat of a member that is there or joins.
func (b *beat) live() {
	m, old, code, text := b.member()
	if code != 0 {
		b.out = outcome{}
		b.refuse(code, text)
		return
	}
	before, after, code, text := b.step(m, old, b.req.MemberID, b.update)
	if code != 0 {
		b.out = outcome{}
		b.refuse(code, text)
		return
	}
	b.hear(after, b.s.session(b.req.Group), b.deadline(before, after))
	// Whoever comes with the epoch before has missed an answer.
	full := b.req.Epoch == joining || b.req.Epoch != before.epoch || b.req.RebalanceMs >= 0 && (b.req.Topics != nil || b.req.Regex != nil) && b.req.Owned != nil
	_, every := b.s.settings.of(b.s.configs[b.req.Group])
	reply := ConsumerBeaten{Ref: b.req.Ref, MemberID: after.said.Member, Epoch: after.epoch, HeartbeatMs: every}
	if full || !after.assigned.Equal(before.assigned) {
		reply.Assignment, reply.Assigned = after.assigned, true
	}
	answer(&b.out, reply)
}

// step takes over what a member says, in either protocol, and moves it one step towards its target. m is nil for a new
// member; old is the id of the static member whose place it takes. On a refusal the events so far do not count.
func (b *beat) step(m *consumer, old, id string, said func(ConsumerRecord) ConsumerRecord) (before *consumer, after consumer, code perr.Code, text string) {
	joined := m == nil
	if joined {
		m = &consumer{said: ConsumerRecord{Member: id}}
	}
	if old != "" {
		b.event(StaticConsumerReplaced{Group: b.req.Group, Old: old, New: m.said.Member})
	}
	next := *m
	next.said = said(m.said)
	moved := joined || next.said.Regex != m.said.Regex || !slices.Equal(next.said.Topics, m.said.Topics)
	if joined || !sameRecord(next.said, m.said) {
		if code, text := b.tooMuch(&next, m, joined); code != 0 {
			return m, next, code, text
		}
		b.event(ConsumerChanged{Group: b.req.Group, Consumer: next.said})
	}
	epoch, topics := b.raise(&next, old, moved)
	target, targetEpoch := b.retarget(&next, old, epoch, topics)
	after = next.reconcile(targetEpoch, target, b.req.Owned, func(p core.PartitionID) bool {
		owner, held := b.g.owners[p]
		return !held || owner == next.said.Member || owner == old
	})
	if joined || !after.sameAs(next) {
		b.event(ConsumerReconciled{Group: b.req.Group, Member: after.said.Member, Epoch: after.epoch, Previous: after.previous,
			Stage: int8(after.stage), Assigned: records(after.assigned), Revoking: records(after.revoking)})
	}
	return m, after, 0, ""
}

// hear begins a session of so many ns, and says until when (mono ns) the member has to do what it was told to; 0: nothing.
func (b *beat) hear(m consumer, sessionNs, rebalance int64) {
	seen := ConsumerHeard{Group: b.req.Group, Member: m.said.Member, Session: b.now.Mono + sessionNs, Rebalance: rebalance}
	b.event(seen)
	first := seen.Session
	if seen.Rebalance > 0 {
		first = min(first, seen.Rebalance)
	}
	b.s.arm(&b.out, first)
}

// update takes over what the member says; what it leaves out stays.
func (b *beat) update(r ConsumerRecord) ConsumerRecord {
	r.ClientID, r.ClientHost = b.req.ClientID, b.req.ClientHost
	r.SessionMs, r.Protocols = 0, nil // whatever it spoke before, this is the consumer protocol
	if b.req.InstanceID != nil {
		r.Instance = b.req.InstanceID
	}
	if b.req.RackID != nil {
		r.Rack = b.req.RackID
	}
	if b.req.RebalanceMs >= 0 {
		r.RebalanceMs = b.req.RebalanceMs
	}
	if b.req.Topics != nil {
		r.Topics = nil
		if len(b.req.Topics) > 0 {
			r.Topics = slices.Compact(slices.Sorted(slices.Values(b.req.Topics)))
		}
	}
	if b.req.Regex != nil {
		r.Regex = *b.req.Regex
	}
	if b.req.Assignor != nil {
		r.Assignor = *b.req.Assignor
	}
	return r
}

func sameRecord(a, b ConsumerRecord) bool {
	same := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	return same(a.Instance, b.Instance) && same(a.Rack, b.Rack) && a.ClientID == b.ClientID && a.ClientHost == b.ClientHost &&
		a.RebalanceMs == b.RebalanceMs && slices.Equal(a.Topics, b.Topics) && a.Regex == b.Regex && a.Assignor == b.Assignor &&
		a.SessionMs == b.SessionMs && slices.EqualFunc(a.Protocols, b.Protocols, func(a, b ProtocolRecord) bool { return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata) })
}

// with lists the members as they are once this heartbeat is applied; old is the id whose place the member takes.
func (b *beat) with(m *consumer, old string) []*consumer {
	var list []*consumer
	for _, o := range b.g.inOrder() {
		if id := o.said.Member; id != m.said.Member && id != old {
			list = append(list, o)
		}
	}
	list = append(list, m)
	slices.SortFunc(list, func(a, b *consumer) int { return strings.Compare(a.said.Member, b.said.Member) })
	return list
}

// raise begins a new group epoch if this member's subscription changed, or the topics did.
func (b *beat) raise(m *consumer, old string, moved bool) (epoch int32, topics map[string]subscribedTopic) {
	var k looked
	if beats := b.s.beats[b.req.Group]; beats != nil {
		k = beats.looked
	}
	all := moved || b.req.Image.Version > k.all && b.now.Mono >= k.allSince+patternsEvery*ms
	if !all && b.req.Image.Version <= k.image {
		return b.g.epoch, b.g.topics
	}
	if k.image = b.req.Image.Version; all {
		k.all, k.allSince = b.req.Image.Version, b.now.Mono
	}
	b.event(TopicsLooked{Group: b.req.Group, looked: k})
	topics = subscriptionsOf(b.with(m, old)).lookUp(b.req.Image, b.req.Asker, b.g.topics, all)
	if !moved && maps.Equal(topics, b.g.topics) {
		return b.g.epoch, b.g.topics
	}
	b.event(GroupEpochRaised{Group: b.req.Group, Epoch: b.g.epoch + 1, Topics: topicRecords(topics), Age: b.s.ageAt(b.now)})
	return b.g.epoch + 1, topics
}

// retarget makes new targets if they are older than the group, and returns the member's.
func (b *beat) retarget(m *consumer, old string, epoch int32, topics map[string]subscribedTopic) (assignor.Partitions, int32) {
	targets := b.g.targets
	if old != "" {
		targets = maps.Clone(targets)
		targets[m.said.Member] = targets[old]
		delete(targets, old)
	}
	if epoch == b.g.targetEpoch {
		return targets[m.said.Member], epoch
	}
	name, anew := assign(b.with(m, old), topics, targets)
	b.event(TargetAssigned{Group: b.req.Group, Epoch: epoch, Assignor: name, Targets: targetRecords(anew)})
	return anew[m.said.Member], epoch
}

// deadline is until when the member has to have given up what it is to, mono ns; 0: nothing.
func (b *beat) deadline(before *consumer, after consumer) int64 {
	if after.stage != unrevoked {
		return 0
	}
	if k := b.s.beats[b.req.Group]; k != nil && before.sameAs(after) && k.rebalance[after.said.Member] > 0 {
		return k.rebalance[after.said.Member]
	}
	return b.now.Mono + after.said.RebalanceMs*ms
}

func (b *beat) tooMuch(m, before *consumer, joined bool) (perr.Code, string) {
	said := len(m.said.Regex) + len(m.said.Assignor)
	for _, t := range m.said.Topics {
		said += len(t)
	}
	if limit := int(b.s.settings.MaxMemberBytes); boundGroups && said > limit {
		return perr.InvalidRequest, fmt.Sprintf("the subscription of a member of group %s has %d bytes, lockstep.group.member.max.bytes is %d: subscribe to less, or raise it", b.req.Group, said, limit)
	}
	if boundGroups && m.said.Regex != before.said.Regex && len(subscriptionsOf(b.with(m, "")).patterns) > maxPatterns {
		return perr.InvalidRequest, fmt.Sprintf("the members of group %s have %d patterns already: let them subscribe by the same ones", b.req.Group, maxPatterns)
	}
	more := m.bytes()
	if !joined {
		more -= before.bytes()
	}
	if !b.s.known(b.req.Group) {
		more += groupBytes(b.req.Group)
	}
	if limit := b.s.settings.MaxShardBytes; boundGroups && more > 0 && b.s.kept+more > limit {
		return perr.CoordinatorLoadInProgress, fmt.Sprintf("the coordinator of group %s holds %d bytes of groups and offsets, lockstep.group.shard.max.bytes is %d: end unused members, or raise it", b.req.Group, b.s.kept, limit)
	}
	return 0, ""
}
