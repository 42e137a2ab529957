//go:build mutants

package bus

import "lockstep/actors/core/rules"

var (
	repeatFloorsWhileWaiting = rules.Kept("R5 repeatFloorsWhileWaiting")
	stopOverKafkaPortAlone   = rules.Kept("C8 stopOverKafkaPortAlone")
	echoOfThisProcessOnly    = rules.Kept("C4 echoOfThisProcessOnly")
	addressInsideMessage     = rules.Kept("C10 addressInsideMessage")
	keepNewestFloor          = rules.Kept("R3 keepNewestFloor")
	evidenceOfReportedOnly   = rules.Kept("C4 evidenceOfReportedOnly")
	newerWithdrawsOlder      = rules.Kept("C3 newerWithdrawsOlder")
)
