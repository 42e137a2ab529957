//go:build mutants

package compaction

import "lockstep/actors/core/rules"

var (
	abortedHidesNothing     = rules.Kept("F52 abortedHidesNothing")
	markersOutliveTheirData = rules.Kept("F52 markersOutliveTheirData")
	tombstonesStay          = rules.Kept("F52 tombstonesStay")
	producersKeepAShell     = rules.Kept("T6 producersKeepAShell")
)
