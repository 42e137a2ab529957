//go:build mutants

package front

import "lockstep/actors/core/rules"

var (
	answerBeforeClientGivesUp = rules.Kept("R10 answerBeforeClientGivesUp")
	denyUnregistered          = rules.Kept("C1 denyUnregistered")
	tellPropagatingApart      = rules.Kept("C1 tellPropagatingApart")
	mirrorsAloneReadAboveHW   = rules.Kept("C1 mirrorsAloneReadAboveHW")
	reportersActForTheCluster = rules.Kept("C1 reportersActForTheCluster")
	listsOfOpenConnections    = rules.Kept("R14 listsOfOpenConnections")
	plainOneAtATime           = rules.Kept("C3 plainOneAtATime")
	waitForShown              = rules.Kept("I14 waitForShown")
	refuseSharedPrefix        = rules.Kept("C13 refuseSharedPrefix")
)
