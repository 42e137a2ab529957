package registration

import (
	"testing"

	"lockstep/actors/core"
)

// gatedPartitions is how many partitions the leaders are told the mirror has.
func (l *ledger) gatedPartitions() int32 {
	l.t.Helper()
	gates := l.s.registrations()[topicA].Gates
	if len(gates) != 1 {
		l.t.Fatalf("%d gates", len(gates))
	}
	return gates[0].Partitions
}

// Added partitions open in the order of their numbers, however the mirror reports of them, and stay open over a
// restart and under the same registration only (C11, F36).
func TestAddedPartitionsOpenWhenTheMirrorHasThem(t *testing.T) {
	l := newLedger(t)
	re := l.register(register(1, 0)).Epoch
	report := func(index int32, epoch core.RegistrationEpoch) {
		l.do(ReportAddition{Key: dst, ID: core.PartitionID{Topic: topicA, Index: index}, Epoch: epoch})
	}
	if n := l.gatedPartitions(); n != 2 {
		t.Fatalf("registered with %d partitions", n)
	}
	report(4, re)
	report(3, re+1) // of another registration
	if n := l.gatedPartitions(); n != 2 {
		t.Fatalf("partition 2 was never reported of, yet %d count", n)
	}
	report(2, re)
	if n := l.gatedPartitions(); n != 3 {
		t.Fatalf("%d count after partition 2", n)
	}
	if !has[Publish](l.effects) {
		t.Fatal("leaders are not told")
	}
	report(3, re)
	if n := l.gatedPartitions(); n != 5 {
		t.Fatalf("%d count after partitions 2, 3 and 4", n)
	}
	l.restart()
	if n := l.gatedPartitions(); n != 5 {
		t.Fatalf("%d count after a restart", n)
	}
	other := register(2, 0)
	other.Incarnation, other.Partitions = data2, 1
	l.register(other)
	if n := l.gatedPartitions(); n != 1 {
		t.Fatalf("a destination that has 1 partition registered %d", n)
	}
}
