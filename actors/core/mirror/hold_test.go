package mirror

import (
	"strings"
	"testing"

	"lockstep/protocol/perr"
)

// refusedHeld answers the pending Register as a source does that holds release n.
func (d *site) refusedHeld() {
	d.t.Helper()
	d.do(RegisterAnswered{Topic: topicA, Generation: d.topic().Generation, Number: 1, Held: true,
		Code: perr.MirrorSyncReleasedRequiresFreshPromotion, Text: "released and held"})
}

// A recovery that is held back tries for ever, at most a minute apart, never fails for good, and tries at once
// when the source says that the hold is over; also after a restart (C4).
func TestAHeldRecoveryBacksOffUntilTheNotice(t *testing.T) {
	d := registering(t)
	attempts, last := 0, int64(0)
	for range 30 {
		d.refusedHeld()
		d.phase(CatchingUp)
		attempts++
		if text := d.describe().ErrorMessage; !strings.Contains(text, "--unhold") {
			t.Fatalf("the operator reads %q", text)
		}
		began := d.now.Mono
		for d.topic().phase() == CatchingUp {
			for p := int32(0); p < partitions; p++ {
				d.progress(p, 10, 10)
			}
			d.tick(tickNs)
			if d.now.Mono-began > 61e9 {
				t.Fatalf("attempt %d was not followed by another within a minute", attempts)
			}
		}
		last = d.now.Mono - began
	}
	if last < 59e9 {
		t.Fatalf("attempt %d came after %d ms, no back-off", attempts, last/1e6)
	}
	d.refusedHeld()
	d.restart()
	d.do(ReportLifted{})
	for p := int32(0); p < partitions; p++ {
		d.progress(p, 10, 10)
	}
	d.tick(2 * tickNs)
	d.phase(Registering)
	if d.topic().RetryAttempt != 0 {
		t.Fatalf("retry attempt %d after the notice", d.topic().RetryAttempt)
	}
}
