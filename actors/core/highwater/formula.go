package highwater

import "lockstep/actors/core"

// participants is who has a say in the next high watermark (R5).
type participants struct {
	local    []core.Offset // durable LEO of every replica that counts here; Unknown: not reported yet
	floors   []core.Offset // newest floor of every registered mirror; Unknown: not reported yet
	underMin bool          // some side is below its min ISR
}

// committed is the whole rule: HW moves to the smallest durable position of all participants, never
// back, and not at all while somebody is unknown or some side is under its min ISR.
func committed(hw core.Offset, p participants) core.Offset {
	if p.underMin && freezeUnderMinISR {
		return hw
	}
	low := lowest(p.local)
	if low == core.Unknown {
		return hw
	}
	for _, floor := range p.floors {
		if floor == core.Unknown {
			if unknownBlocks {
				return hw
			}
			continue
		}
		low = min(low, floor)
	}
	return max(hw, low)
}

// lowest is the smallest position, Unknown if any is unknown or there is none.
func lowest(positions []core.Offset) core.Offset {
	if len(positions) == 0 {
		return core.Unknown
	}
	low := positions[0]
	for _, p := range positions {
		if p == core.Unknown {
			return core.Unknown
		}
		low = min(low, p)
	}
	return low
}
