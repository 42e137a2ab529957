package registration

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/testkit/laws"
)

// A whole life: registered, gated, released, recovered, stopped, deleted.
func TestLaws(t *testing.T) {
	l := newLedger(t)
	re := l.register(register(1, 0)).Epoch
	for p := int32(0); p < 2; p++ {
		l.do(ReportGate{Key: dst, ID: core.PartitionID{Topic: topicA, Index: p}, Epoch: re, LeaderEpoch: 1, GateStart: 10})
	}
	l.release()
	l.register(register(2, 0))
	l.register(register(3, 1))
	l.release(topicA)
	l.register(register(4, 2))
	l.unregister(unregister(3))
	stop := unregister(5)
	stop.Mode = ModeStop
	l.do(stop)
	l.now.Mono += ungatingWaitNs
	l.do(Tick{})
	l.do(DropTopic{topicA})
	laws.Check(t, Machine(), "src", l.script)
}
