//go:build !mutants

package front

// The rules of rulings.md that stand in the front. Those about offsets, gates and claims stand in the cores.
const (
	answerBeforeClientGivesUp = true // R10: at 90 % of timeoutMs, so that the client hears the reason
	denyUnregistered          = true // C1, F47: a report of a stranger is denied per partition
	tellPropagatingApart      = true // C1: known to the ledger and not applied here is 953, not 952
	mirrorsAloneReadAboveHW   = true // C1: everybody else is bounded by HW or LSO
	reportersActForTheCluster = true // F47: a report of a principal without CLUSTER_ACTION is no report, and its fetch is refused
	listsOfOpenConnections    = true // R14, F07: what a plain peer left on an ended connection is old
	plainOneAtATime           = true // C3: what a peer without numbers left on an ended connection is dropped
	waitForShown              = true // I14: whoever reads after an ack finds the record
	refuseSharedPrefix        = true // C13, M01: two clusters with one producer id prefix
)
