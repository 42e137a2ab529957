package highwater

import (
	"fmt"

	"lockstep/actors/core"
)

// reportFloor accepts a mirror's claim only in exactly our epoch, for the registration and the data that
// gate, and only if it can be true (R3, R2).
func (d *decision) reportFloor(c ReportFloor) {
	s := &d.s
	if !s.leading || !s.imaged {
		return
	}
	if c.SourceEpoch > s.epoch || (c.SourceEpoch != s.epoch && requireExactSourceEpoch) {
		return
	}
	if c.SourceIncarnation != s.image.Incarnation && requireSourceIncarnation {
		return // of a run that the disks were copied from: it counted this very epoch, over other records
	}
	if c.Floor < core.Unknown || c.ISRSize < 1 || c.MinISR < 1 || c.Floor > s.end() {
		return // negative, vacuous, or of a log that is not ours (F01, F03)
	}
	for _, g := range s.gates {
		if !g.hears(c.Key) {
			continue
		}
		if g.Plain && plainPeersByListAlone {
			return // its name, or its cluster's, in a message that only we send
		}
		if resetOnRegistration && (g.Epoch != c.Epoch || g.Incarnation != c.Incarnation) {
			return
		}
		if noFloorUnderMinISR && c.ISRSize < g.MinISR {
			c.Floor = core.Unknown // too few hold it; only the size is news (F32)
		}
		d.emit(FloorHeard{Report: c, At: d.now.Mono})
		d.gatesMoved = true
		return
	}
}

// hears reports whether a floor of key is about this gate. Two clusters may use one mirror name, and floors
// of one must never stand for copies of the other (F03, F33).
func (g gate) hears(key core.MirrorKey) bool {
	return g.Key == key || (g.Key.Mirror == key.Mirror && !floorOfWholeKey)
}

// slowestGate is the mirror with the smallest floor; Unknown is the smallest.
func (s *State) slowestGate() (gate, bool) {
	var slowest gate
	for i, g := range s.gates {
		if i == 0 || g.Floor < slowest.Floor {
			slowest = g
		}
	}
	return slowest, len(s.gates) > 0
}

// refusingGate is a mirror that has been under its min ISR for longer than a flap (R9).
func (s *State) refusingGate(now int64) (gate, bool) {
	for _, g := range s.gates {
		if refuseBeforeAppend && g.UnderSince != 0 && now-g.UnderSince >= underMinPatience {
			return g, true
		}
	}
	return gate{}, false
}

func underMinText(g gate) string {
	of := ""
	if g.Key.Cluster != "" { // a peer that speaks only the KIP names none
		of = fmt.Sprintf(" of cluster %s", g.Key.Cluster)
	}
	return fmt.Sprintf("mirror %s%s has %d in-sync replicas and needs %d; it recovers by itself or must be released",
		g.Key.Mirror, of, g.ISRSize, g.MinISR)
}

// settleGates publishes what destinations may be told of this leader.
func (d *decision) settleGates() {
	s := &d.s
	if !s.imaged {
		return
	}
	waiting := len(s.waiters) > 0
	moved := d.gatesMoved || (d.hwMoved && len(s.gates) > 0) || (waiting && !s.toldWaiters && len(s.gates) > 0)
	if s.toldGates && !moved && !d.looked {
		return
	}
	local := lowest(s.counting(d.now.Mono))
	holds := make([]int64, 0, len(s.gates))
	for _, g := range s.gates {
		since := int64(0)
		if held := local > s.hw && g.Floor <= s.hw; held {
			since = g.HoldsSince
			if since == 0 {
				since, moved = max(d.now.Mono, 1), true
			}
		}
		holds = append(holds, since)
	}
	if s.toldGates && !moved {
		return
	}
	d.emit(GatesTold{HasWaiters: waiting, Holds: holds})
	d.late(s.gatesNow())
}

func (s *State) gatesNow() PublishGates {
	p := PublishGates{Epoch: s.epoch, HW: s.hw, HasWaiters: len(s.waiters) > 0, LastUnclean: s.image.LastUnclean}
	if n := len(s.gates); n > 0 {
		p.Gates = make([]GateState, 0, n)
	}
	for _, g := range s.gates {
		p.Gates = append(p.Gates, GateState{
			Key: g.Key, Epoch: g.Epoch, GateStart: g.Start, Floor: g.Floor,
			Armed:    g.Floor != core.Unknown && g.Floor >= g.Start,
			UnderMin: g.UnderSince != 0, ISRSize: g.ISRSize, MinISR: g.MinISR,
			LastReport: g.LastReport, HoldsSince: g.HoldsSince, Plain: g.Plain,
		})
	}
	return p
}
