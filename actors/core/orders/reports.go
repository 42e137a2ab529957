package orders

import (
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
)

// CompactReports keeps, of several reports of one term that a shell releases together, the last: it says all.
func CompactReports(effects []partition.Effect) []partition.Effect {
	kept := make([]partition.Effect, 0, len(effects))
	for i, f := range effects {
		if report, ok := f.(partition.ReportDurable); ok && superseded(report, effects[i+1:]) {
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

// superseded looks no further than the next report or change of terms: what a report says before an
// adoption must not move behind it.
func superseded(report partition.ReportDurable, later []partition.Effect) bool {
	for _, f := range later {
		switch e := f.(type) {
		case partition.ReportDurable:
			return e.Leader == report.Leader && e.Epoch == report.Epoch && e.Term == report.Term
		case partition.TellHighWatermark:
			return false
		default: // nothing else orders reports
		}
	}
	return false
}

// Applies reports whether a leader that published e still gates under the registration of g.
func Applies(e highwater.PublishGates, g highwater.GateState) bool {
	for _, now := range e.Gates {
		if now.Key == g.Key && now.Epoch == g.Epoch {
			return true
		}
	}
	return false
}
