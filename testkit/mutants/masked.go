package mutants

// Masked are rules that no seed of the simulation can notice alone, and what stands in front of each there. Other tiers
// notice them: the tests of their package, and most of them a model.
var Masked = map[string]string{
	"forgetReportsOnEpoch":   "SteppedDown drops the gates, a restart loses them, and an epoch raised in place keeps a log that was never cut: the floors that stay are true",
	"keepMaximumFloor":       "a floor that goes back holds HW for a while and takes nothing back, and the newest floor is repeated",
	"requireAdoptedEpoch":    "one fetcher hands over one command of a partition at a time, and its cursor drops answers of another epoch before (reportsOfAdoptedEpoch)",
	"requireNewEpochToLead":  "a replica that panicked takes no Lead below the epoch it asks the controller for, and a process that starts raises all epochs",
	"serveFromElectionImage": "the image follows LeaderStarted in the same mailbox with nothing between, and nobody has reported a LEO of the epoch before",
	"trackAdoptedEpochOnly":  "source HWs come from appendMirrored alone, behind requireAdoptedEpoch, and behind SourceAdopted in the same mailbox",
}
