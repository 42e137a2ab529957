package registration

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// decideRegister is the admission table (rulings §4). The order of the checks matters: what cannot be judged
// (an unknown topic) leaves no trace; everything else is numbered in the journal before it is answered, so
// that an older command that arrives later meets its number (C3, model K1).
func (s *State) decideRegister(c RegisterTopic) (out outcome) {
	k := LedgerKey{c.Key, c.Topic}
	answer := RegisterAnswered{Ref: c.Ref, Topic: c.Topic, Name: c.Name}
	if code, text := s.wrongTopic(c.Topic, c.Name, c.Source); code != perr.None {
		answer.Code, answer.Text = code, text
		return reply(out, answer)
	}
	answer.Era = max(s.successions[c.Topic].Era, c.Source.Era)
	content := CommandRecord{Echo: c.Echo, Recovery: c.Recovery, Incarnation: c.Incarnation, MinISR: c.MinISR}
	e := s.entries[k]
	if newest, text := e.superseded(c.Generation, content); text != "" {
		answer.Code, answer.Text, answer.Newest = perr.InvalidSyncRegistration, text, newest
		return reply(out, answer)
	}
	if !judgeEqualAgain && c.Generation != 0 && c.Generation == e.generation && e.epoch != 0 {
		answer.Epoch = e.epoch
		return reply(out, answer)
	}
	answer.Code, answer.Text, answer.Number = s.refuse(k, c)
	answer.Held = answer.Number != 0 && s.held(k)
	if answer.Code != perr.None {
		out.Events = s.numbered(k, c.Source.Name, c.Generation, content, answer.Code)
		if answer.Number != 0 {
			out.Events = append(out.Events, DestinationTold{k, answer.Number})
		}
		return reply(out, answer)
	}
	if e.registered && e.sameData(content) && e.sameKind(c) {
		out.Events = s.numbered(k, c.Source.Name, c.Generation, content, perr.None)
		answer.Epoch, answer.Gates = e.epoch, gateStarts(e.gates)
		return reply(out, answer)
	}
	answer.Epoch = s.lastEpoch + 1
	if !neverReuseEpoch && e.epoch != 0 {
		answer.Epoch = e.epoch
	}
	out.Events = []Event{TopicRegistered{
		Cluster: c.Key.Cluster, Mirror: c.Key.Mirror, Topic: c.Topic, Name: c.Source.Name, Partitions: c.had(),
		Epoch: answer.Epoch, Generation: c.Generation, Content: content, Admitted: s.released(k),
	}}
	// The facts leave before the answer: no leader acks ungated after the destination was told (C1).
	return reply(s.publish(out, c.Topic), answer)
}

// wrongTopic checks what a request names. The id decides: a report or command for a deleted topic must never
// reach the one that has its name now (F34).
func (s *State) wrongTopic(id core.TopicID, name string, source Source) (perr.Code, string) {
	switch {
	case !topicIDDecides:
		return perr.None, ""
	case !source.Known || s.dropped[id]:
		return perr.UnknownTopicId, fmt.Sprintf("cluster %s has no topic with id %s (named %q): mirror the topic that has the name now, or remove it from the mirror", s.cluster, id, name)
	case name != "" && name != source.Name:
		return perr.InconsistentTopicId, fmt.Sprintf("topic id %s is called %q in cluster %s, not %q", id, source.Name, s.cluster, name)
	}
	return perr.None, ""
}

// superseded compares a command with the newest of its key. text is "" when the command stands: it is newer,
// or it repeats the newest exactly and is judged again against the state of now (model K2). A destination
// whose number is taken by another command was restored from an older journal (model K5).
func (e entry) superseded(g core.Generation, content CommandRecord) (core.Generation, string) {
	switch {
	case !refuseOlderCommands:
	case g == 0 && e.numbered && numberedStaysNumbered:
		return e.generation, fmt.Sprintf("superseded: this mirror numbers its commands, the newest is %d; send a generation, or release the mirror here first", e.generation)
	case g == 0:
	case g < e.generation:
		return e.generation, fmt.Sprintf("superseded: generation %d is older than %d", g, e.generation)
	case g == e.generation && content != e.content:
		return e.generation, fmt.Sprintf("superseded: generation %d was used for another command; continue above it with a new data incarnation", g)
	}
	return 0, ""
}

// sameData reports whether a standing registration covers the command: other data at the destination, or
// another pinned MinISR, is another registration, whose floors start Unknown (R2, F32, F44).
func (e entry) sameData(c CommandRecord) bool {
	return !newDataRegistersAnew || e.incarnation == c.Incarnation && e.minISR == c.MinISR
}

// sameKind reports whether a standing registration was made by a peer of the same kind. One that states floors
// now is no longer believed by lists, nor the other way round (R14).
func (e entry) sameKind(c RegisterTopic) bool {
	return !otherKindRegistersAnew || e.plain == c.plain()
}

// plain: a peer that speaks only the KIP numbers nothing.
func (c RegisterTopic) plain() bool { return c.Generation == 0 }

// refuse says why a Register that stands is not admitted.
func (s *State) refuse(k LedgerKey, c RegisterTopic) (code perr.Code, text string, number core.ReleaseNumber) {
	if !c.CanGate {
		return perr.MirrorSyncVersionMismatch, fmt.Sprintf("cluster %s does not gate acknowledgements: start it with mirror.version=1 and mirror.sync.version=1", s.cluster), 0
	}
	if owner, held := s.owner(c.Key.Mirror); refuseSecondCluster && held && owner != c.Key {
		return perr.MirrorNameInUse, fmt.Sprintf("mirror name %q belongs to cluster %s: choose another name, or release the old mirror with --forget on cluster %s", c.Key.Mirror, owner.Cluster, s.cluster), 0
	}
	if c.Source.ProvenOnly && c.plain() && refuseBelowMinClass {
		return perr.MirrorSyncVersionMismatch, fmt.Sprintf("topic %q has lockstep.sync.min.class=proven and mirror %q speaks only the KIP, so what it has cannot be proven: upgrade it, or set the topic to reported", c.Source.Name, c.Key.Mirror), 0
	}
	if c.Source.ProvenOnly && (c.Unsynced || c.Source.Unsynced) && refuseUnsynced {
		who := c.Key.Cluster
		if c.Source.Unsynced {
			who = s.cluster
		}
		return perr.MirrorSyncVersionMismatch, fmt.Sprintf("topic %q has lockstep.sync.min.class=proven and cluster %s runs with durability=os, so what it has is not on disk: start it with --durability fsync, or set the topic to reported", c.Source.Name, who), 0
	}
	if refuseMirroredTopic && c.Source.Mirrored {
		return perr.InvalidClusterMirrorState, fmt.Sprintf("topic %q follows a mirror in cluster %s itself, so its acknowledgements cannot be gated there: register with the cluster that takes its writes", c.Source.Name, s.cluster), 0
	}
	if refuseCycle && (c.Key.Cluster == s.cluster || slices.Contains(c.Path, s.cluster)) {
		return perr.InvalidClusterMirrorState, fmt.Sprintf("cluster %s would wait for itself: it gates behind cluster %s already", s.cluster, c.Key.Cluster), 0
	}
	if r := s.successions[k.Topic]; r.standing() == Superseded && !(s.entries[k].registered && r.by() != c.Key) && refuseAfterSuccession {
		return perr.InvalidClusterMirrorState, fmt.Sprintf("cluster %s has taken over topic %q (era %d) and cluster %s takes no more writes of it: register there", r.Cluster, c.Source.Name, r.Next, s.cluster), 0
	}
	n := s.released(k)
	if n != 0 && s.held(k) {
		return perr.MirrorSyncReleasedRequiresFreshPromotion, fmt.Sprintf("released (release %d) and held here by an operator: run --release-sync --unhold --mirror %s on cluster %s", n, c.Key.Mirror, s.cluster), n
	}
	if n == 0 || s.answersRelease(k, n, c) {
		return perr.None, "", 0
	}
	return perr.MirrorSyncReleasedRequiresFreshPromotion, fmt.Sprintf("released here by an operator (release %d): catch up, then register again echoing it", n), n
}

// answersRelease decides whether a Register may clear the markers that cover its topic. A flag alone, or an
// older number, may have been sent before the newest release and would undo it silently (F14, models C1,
// C1b). Peers without numbers get the nearest thing: their flag counts once this release was told to them.
func (s *State) answersRelease(k LedgerKey, n core.ReleaseNumber, c RegisterTopic) bool {
	if c.plain() {
		return c.Recovery && (!tellPlainPeersFirst || s.told[k] == n)
	}
	if !echoCurrentRelease {
		return c.Recovery
	}
	return c.Echo == n
}

// numbered journals the newest generation of a key, if it is news. Also where nothing else changes: forgotten
// by a restart, an older Unregister would end a live registration (model K1).
func (s *State) numbered(k LedgerKey, name string, g core.Generation, content CommandRecord, code perr.Code) []Event {
	e := s.entries[k]
	if g == 0 || g == e.generation && content == e.content && e.numbered || !journalGeneration {
		return nil
	}
	return []Event{CommandNumbered{
		Cluster: k.Mirror.Cluster, Mirror: k.Mirror.Mirror, Topic: k.Topic, Name: name,
		Generation: g, Content: content, Code: int16(code),
	}}
}

func gateStarts(gates []GateRecord) (list []GateStart) {
	for _, g := range gates {
		list = append(list, GateStart(g))
	}
	return list
}

func reply(out outcome, e Effect) outcome {
	out.Late = append(out.Late, e)
	return out
}
