package mirror

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/testkit/laws"
)

// A whole life: SYNC, released, recovered, demoted, promoted, stopped.
func TestLaws(t *testing.T) {
	d := synced(t)
	d.do(ReportReleased{Number: 1})
	d.unregistered()
	d.tick(1e9)
	for range 2 {
		for p := int32(0); p < partitions; p++ {
			d.progress(p, 10, 10)
		}
		d.tick(tickNs)
		d.admit(2)
		for p := int32(0); p < partitions; p++ {
			d.evidence(p, 2, 10, 10)
		}
		d.tick(2e9)
		d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeAsync})
		d.unregistered()
		d.do(AlterType{Topics: []core.TopicID{topicA}, Type: TypeSync})
	}
	d.stop()
	d.local(100)
	laws.Check(t, Machine(), "m", d.script)
}
