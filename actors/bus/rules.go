//go:build !mutants

package bus

const (
	repeatFloorsWhileWaiting = true // R5, findings B11: the only cure for a lost floor
	stopOverKafkaPortAlone   = true // C8, model W7: what NATS has taken cannot be withdrawn
	echoOfThisProcessOnly    = true // C4, F19: another process's echo proves no contact of ours
	addressInsideMessage     = true // F33: a subject is routing, not an address
	keepNewestFloor          = true // R3: a late publish of an older leader does not replace a newer floor
	evidenceOfReportedOnly   = true // F13: evidence of partitions we never reported is not believed
	newerWithdrawsOlder      = true // C3, F16: a plain source would take whichever comes last
)
