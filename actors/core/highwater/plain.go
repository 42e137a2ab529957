package highwater

import (
	"math"
	"slices"

	"lockstep/actors/core"
)

// Classes of a gate, as journaled. PROVEN rests on floors, which are facts; REPORTED on what the leader of a
// peer that speaks only the KIP says of its replicas (R14).
const (
	classProven   int8 = 0
	classReported int8 = 1
	// classUnsynced: floors, and a cluster on one side or the other that runs with durability=os.
	classUnsynced int8 = 2
)

// reportReplicas takes the list of a plain peer. It proves one copy, in the log of the destination's leader, and
// only if the fetch that carries it stands in exactly our epoch and agrees with our log: in the epoch, whatever
// this leader served stays in its log, so the check cannot become untrue.
func (d *decision) reportReplicas(c ReportReplicas) {
	s := &d.s
	if !s.leading || !s.imaged || c.SourceEpoch != s.epoch && listOfThisEpoch {
		return
	}
	for _, g := range s.gates {
		if g.Key != c.Key || g.Epoch != c.Epoch || !g.Plain {
			continue
		}
		heard := ListHeard{Key: c.Key, Floor: min(c.value(), s.end()), MinISR: max(1, c.MinISR), At: d.now.Mono}
		heard.ISRSize = int32(len(distinct(c.ISR)))
		d.emit(heard)
		d.gatesMoved = true
		return
	}
}

// value is how far the list vouches for the destination: the smallest position in its ISR, none above what its
// leader has itself, and Unknown when something is missing. Its followers joined by a rule that floors do not
// have (F06), so it holds for this instant only.
func (c ReportReplicas) value() core.Offset {
	if c.LastFetched == core.NoEpoch && listNeedsFetchedEpoch || !c.Agrees && listNeedsAgreement {
		return core.Unknown
	}
	if (len(c.ISR) == 0 || c.MinISR < 1) && unsaidIsUnknown {
		return core.Unknown
	}
	low := c.FetchOffset
	if !capAtFetchOffset {
		low = math.MaxInt64
	}
	for _, member := range c.ISR {
		leo, said := c.positionOf(member)
		switch {
		case !said && unsaidIsUnknown:
			return core.Unknown
		case said:
			low = min(low, leo)
		}
	}
	return max(low, core.Unknown)
}

// positionOf is the smallest position stated of a replica.
func (c ReportReplicas) positionOf(member core.ReplicaID) (leo core.Offset, said bool) {
	for _, r := range c.Replicas {
		if r.Replica == member && (!said || r.LEO < leo) {
			leo, said = r.LEO, true
		}
	}
	return leo, said
}

// distinct counts every replica once: two mentions of one replica are one copy.
func distinct(isr []core.ReplicaID) []core.ReplicaID {
	set := slices.Clone(isr)
	slices.Sort(set)
	return slices.Compact(set)
}

// listHeard replaces what the list before said, also by less: no maximum is kept of what is not a fact.
func (s *State) listHeard(e ListHeard) {
	gates := slices.Clone(s.gates)
	for i := range gates {
		g := &gates[i]
		if g.Key != e.Key {
			continue
		}
		if newestListReplaces || e.Floor > g.Floor {
			g.Floor = e.Floor
		}
		g.ISRSize, g.MinISR = e.ISRSize, e.MinISR
		switch {
		case e.Floor == core.Unknown || e.ISRSize >= e.MinISR || !noAdvanceUnderReportedMin:
			g.UnderSince = 0
		case g.UnderSince == 0:
			g.UnderSince = max(e.At, 1)
		}
		g.Heard, g.LastReport = true, max(g.LastReport, e.At)
	}
	s.gates = gates
}

func (s *State) class(g gate) int8 {
	switch {
	case g.Plain && ledgerNamesClass:
		return classReported
	case (g.Unsynced || s.image.Unsynced) && ledgerNamesUnsynced:
		return classUnsynced
	}
	return classProven
}
