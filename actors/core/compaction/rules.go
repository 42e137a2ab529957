//go:build !mutants

package compaction

// Each constant is one rule of compaction; rules_mutants.go can switch one off for a test.
const (
	abortedHidesNothing     = true // F52, compat-R01: an aborted record takes no committed one with it
	markersOutliveTheirData = true // F52, compat-R02: without its marker, what was committed is open again
	tombstonesStay          = true // F52, compat-R04: who copies the log learns that a key is gone
	producersKeepAShell     = true // T06: a retry is known by the last batch of its producer
)
