package mirror

import (
	"cmp"

	"lockstep/actors/core"
)

// Class says what a claim rests on (R14).
type Class int8

const (
	// ClassProven: floors and evidence, both fenced by epochs and numbers.
	ClassProven Class = 0
	// ClassReported: the word of a source that speaks only the KIP. It is never called zero RPO.
	ClassReported Class = 1
	// ClassUnsynced: floors and evidence of a cluster, here or at the source, that runs with durability=os: what it calls
	// durable may lie in a page cache, and a power loss takes it. It is never called zero RPO.
	ClassUnsynced Class = 2
)

// MinClassSetting is the setting, of a mirror or a topic, that names the lowest class that may become SYNC.
const MinClassSetting = "lockstep.sync.min.class"

// FollowUncleanSetting is the setting, of a mirror or a topic, that lets it follow its source through an unclean election.
const FollowUncleanSetting = "mirror.support.unclean.leader.election"

// String is the word people read.
func (c Class) String() string {
	switch c {
	case ClassProven:
		return "PROVEN"
	case ClassReported:
		return "REPORTED"
	case ClassUnsynced:
		return "UNSYNCED"
	default:
		return "UNKNOWN"
	}
}

// Setting is the value of MinClassSetting that asks for the class; what is not proven is admitted by "reported" alone.
func (c Class) Setting() string {
	if c == ClassProven {
		return "proven"
	}
	return "reported"
}

// class of the newest admission. A source of ours names a registration, one that speaks only the KIP none.
func (t *topic) class() Class {
	p := t.phase()
	if t.Epoch == 0 && (p == Arming || p == Sync || (p == Stopping || p == Stopped) && t.Clock != 0) {
		return ClassReported
	}
	return ClassProven
}

// unsynced reports whether one of both clusters may have in its page cache what it calls durable.
func (s *State) unsynced(t *topic) bool {
	return (s.defaults.Unsynced || t.SourceUnsynced) && provenOnDiskOnly
}

// classOf is what people are told that a claim rests on.
func (s *State) classOf(t *topic) Class {
	if c := t.class(); c != ClassProven || !s.unsynced(t) {
		return c
	}
	switch t.phase() {
	case Arming, Sync, Stopping, Stopped:
		return ClassUnsynced
	default:
		return ClassProven
	}
}

// unsyncedText is what an operator reads where proof is asked for and a page cache stands between.
const unsyncedText = "one of both clusters runs with durability=os, so what it has is not on disk, and lockstep.sync.min.class=proven: start it with --durability fsync, or set the mirror or the topic to reported"

// restsOnAnswers: what is claimed, or will be, follows from answered sync fetches.
func (t *topic) restsOnAnswers() bool {
	return (t.phase() == Arming || t.phase() == Sync) && t.class() == ClassReported
}

// claims is the word for a claim that stands.
func (c Class) claims() string {
	switch {
	case c == ClassReported && reportedIsNotZeroRPO:
		return "SYNC (as reported by the peer)"
	case c == ClassUnsynced:
		return "SYNC (durability=os: not on disk)"
	}
	return "SYNC"
}

// belowMinClassText is what an operator reads where a class is missing.
const belowMinClassText = "the source speaks only the KIP, so what it acknowledges cannot be proven to be here, and lockstep.sync.min.class=proven: upgrade the source, or set the mirror or the topic to reported"

// provenOnly: the topic's own setting decides, else the mirror's.
func (s *State) provenOnly(t *topic) bool {
	return cmp.Or(settings(t.Config)[MinClassSetting], s.config[MinClassSetting]) == ClassProven.Setting()
}

// belowMinClass reports whether the source may not make the topic SYNC: some leader there has answered and
// stated nothing of its gates, as one that speaks only the KIP.
func (s *State) belowMinClass(t *topic) bool {
	if !s.provenOnly(t) || !refuseBelowMinClass {
		return false
	}
	if s.unsynced(t) {
		return true
	}
	for _, l := range t.live {
		if l.at != 0 && !l.progress.Stated {
			return true
		}
	}
	return false
}

// answered takes an answered fetch of a source that speaks only the KIP: its leader gates if it answered a sync
// fetch without 952 or 953, so T is when that fetch left (R14). A fetch that left before the Register was
// answered may be about a registration before it.
//
// Armed is a partition whose floor has reached the base: the HW of the first such answer in the source's epoch,
// and that epoch's start. The HW alone is not enough: a new leader's may be older than what its predecessor
// acknowledged, which lies below the start. Each epoch needs its own base, because nothing says that a new
// leader knew of the registration before its first ack (F11).
func (w *turn) answered(c ReportProgress) {
	t := w.t
	if !c.Sync && plainGatesBySync || c.SourceEpoch != c.Adopted || c.EpochStart == core.Unknown {
		return
	}
	if c.Asked <= t.admittedAt && plainAskedAfter {
		return
	}
	i := c.ID.Index
	if t.live[i].gateEpoch != c.SourceEpoch {
		base := c.SourceHW
		if baseCoversEpoch {
			base = max(base, c.EpochStart)
		}
		w.happen(GateStated{ID: c.ID, SourceEpoch: c.SourceEpoch, Start: base})
	}
	l := t.live[i]
	if l.gateEpoch != c.SourceEpoch || (c.Floor == core.Unknown || c.Floor < l.gateStart) && plainArmsAtBase {
		return
	}
	if !t.Partitions[i].Armed {
		w.happen(PartitionArmed{Topic: t.Topic, Partition: i, SourceEpoch: c.SourceEpoch, GateStart: l.gateStart, Floor: c.Floor})
	}
	w.gatedIn(i, c.SourceEpoch)
	// Rounded down: T must not lie behind the instant at which the fetch left.
	wall := w.now.Wall - (w.now.Mono-c.Asked+999_999)/1e6
	w.happen(EvidenceReported{At: w.now.Mono, SentWall: wall, Evidence: ReportEvidence{
		ID: c.ID, Sent: c.Asked, SourceEpoch: c.SourceEpoch, GateStart: l.gateStart, Floor: c.Floor, T: ClaimTime{Clock: wall},
	}})
	w.promoted()
}
