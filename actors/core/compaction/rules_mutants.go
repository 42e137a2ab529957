//go:build mutants

package compaction

import "lockstep/actors/core/rules"

var (
	abortedHidesNothing     = rules.Kept("R01 abortedHidesNothing")
	markersOutliveTheirData = rules.Kept("R02 markersOutliveTheirData")
	tombstonesStay          = rules.Kept("R04 tombstonesStay")
	producersKeepAShell     = rules.Kept("T06 producersKeepAShell")
)
