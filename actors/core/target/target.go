// Package target compares the destinations of one lost source as targets of a failover (ruling C15, finding F38).
//
// Which of them holds every acknowledged record cannot be read off one number. A destination that was cut off and then
// released at the source may have the longest log of all, full of records that were never acknowledged, and lack
// those that were. So the comparison goes by what the source waited for: first the destinations that were armed and know of no
// release, by the newest source epoch that gated on them, then by floor.
package target

import (
	"cmp"

	"lockstep/actors/core"
)

// Candidate is what one destination says of one partition, out of what it holds itself: no source is needed.
type Candidate struct {
	Cluster core.ClusterID
	Armed   bool             // the source gated on it, and its floor passed the gate start (C2)
	Refused bool             // the source has said since that it does not gate
	Adopted core.LeaderEpoch // source epoch its log stands under; NoEpoch: none
	GatedIn core.LeaderEpoch // newest source epoch seen to gate on it since Armed; NoEpoch: none
	Floor   core.Offset      // durable on everybody who may lead there, in Adopted, exclusive; Unknown: not known
	LogEnd  core.Offset      // durable LEO of the leader there, exclusive; Unknown: no leader
	T       int64            // source clock, Unix ms, up to which every acks=all record is there; 0: none
}

// Verdict is the outcome for one partition.
type Verdict struct {
	Best   []int  // indexes of the best candidates, several if they are equal; none: it cannot be told
	Reason string // why, as an operator reads it
}

// counts: what it was gated for, nobody has told it to be over.
func (c Candidate) counts() bool {
	return c.Armed && (!c.Refused || !refusedCountsAsReleased)
}

// reach is up to where the log is there in the adopted epoch. After a restart without a source no floor is stated; the
// durable log of the leader, which was elected out of the ISR, reaches it at least.
func (c Candidate) reach() core.Offset {
	if c.Floor != core.Unknown {
		return c.Floor
	}
	return c.LogEnd
}

// Choose finds the best candidates of one partition. It never guesses: a candidate of which too little is known, or a
// newer source epoch of which nobody knows whether it gated, leaves the choice to people.
func Choose(list []Candidate) Verdict {
	if len(list) == 0 {
		return Verdict{Reason: "no destination mirrors it"}
	}
	var best []int
	var why, doubt string
	for i, c := range list {
		reason, beaten := "the only candidate", false
		for j, other := range list {
			if i == j {
				continue
			}
			order, by := compare(c, other)
			switch {
			case by == "":
				doubt, beaten = undecided(c, other), true
			case order < 0:
				beaten = true
			case order > 0 || reason == "the only candidate":
				reason = by
			}
		}
		if !beaten {
			best, why = append(best, i), reason
		}
	}
	if best == nil {
		return Verdict{Reason: doubt}
	}
	return Verdict{Best: best, Reason: why}
}

func undecided(a, b Candidate) string {
	if a.Adopted < b.Adopted {
		a, b = b, a
	}
	if a.reach() == core.Unknown || b.reach() == core.Unknown {
		c := a
		if a.reach() != core.Unknown {
			c = b
		}
		return string(c.Cluster) + " has no leader for it: what it holds is not known"
	}
	return string(a.Cluster) + " follows a newer leader of the source, of which it does not know whether it waited for it, and holds less than " + string(b.Cluster)
}

// compare says which of two candidates is better: positive for a. why is empty if that cannot be told.
func compare(a, b Candidate) (order int, why string) {
	if !neverByLogEnd {
		return cmp.Compare(a.LogEnd, b.LogEnd), "longest log"
	}
	if a.counts() != b.counts() && armedBeforeOthers {
		first, sign := a, 1
		if b.counts() {
			first, sign = b, -1
		}
		if first.reach() == core.Unknown && unknownDecidesNothing {
			return 0, ""
		}
		return sign, "armed, and no release is known"
	}
	if (a.reach() == core.Unknown || b.reach() == core.Unknown) && unknownDecidesNothing {
		return 0, ""
	}
	if !a.counts() && a.T != b.T {
		return cmp.Compare(a.T, b.T), "newest T"
	}
	if a.Adopted == b.Adopted {
		return cmp.Compare(a.reach(), b.reach()), "highest floor in one source epoch"
	}
	newer, older, sign := a, b, 1
	if a.Adopted < b.Adopted {
		newer, older, sign = b, a, -1
	}
	// A newer epoch wins if it gated. If it holds as much as the older one besides, it need not have: an acknowledged
	// record survives every clean election of the source, at its offset.
	if !gatedEpochsOnly || newer.GatedIn >= newer.Adopted || newer.reach() >= older.reach() || !newer.counts() {
		return sign, "newest source epoch"
	}
	return 0, ""
}
