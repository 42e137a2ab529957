package mirror

import (
	"testing"

	"lockstep/actors/core"
	"lockstep/testkit/laws"
)

// lived is a whole life: SYNC, released, recovered, demoted, promoted, stopped.
func lived(t *testing.T) *site {
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
	return d
}

func TestLaws(t *testing.T) {
	laws.Check(t, Machine(), "m", lived(t).script)
}

// A crash may keep any prefix of the journal, also the first events of a decision that had several. Whatever is
// left, the resumed mirror claims nothing that is not wanted and armed, and tells the source what it owes it.
func TestAnyPrefixOfTheJournalResumes(t *testing.T) {
	journal := lived(t).journal
	for n := range journal {
		d := newSite(t)
		d.journal = journal[:n+1]
		d.s = d.replayOnly()
		d.do(Republish{})
		d.do(Resume{})
		topic := d.topic()
		if topic == nil {
			continue
		}
		p := topic.phase()
		claims := p == Registering || p == Arming || p == Sync
		switch {
		case claims && topic.wants() == TypeAsync, p == Sync && !topic.allArmed():
			t.Fatalf("after %d entries: %s, wants %s, %d armed", n+1, p, topic.wants(), topic.armed())
		case topic.Standing && !claims && p != Stopping && topic.Pending == pendingNone:
			t.Fatalf("after %d entries: %s, the source gates and nothing tells it", n+1, p)
		case p == Registering && topic.Pending == pendingNone:
			t.Fatalf("after %d entries: REGISTERING and nothing is sent", n+1)
		case p == Arming && topic.allArmed():
			for i := int32(0); i < partitions; i++ {
				d.evidence(i, topic.Epoch, 10, 10)
			}
			if got := d.describe(); got.Phase != Sync || got.T.Clock == 0 {
				t.Fatalf("after %d entries, all armed and all confirmed: %+v", n+1, got)
			}
		case p == Stopping:
			d.tick(stopTellNs)
			if d.local(100); d.topic().phase() != Stopped {
				t.Fatalf("after %d entries: the stop ends at %s", n+1, d.topic().step())
			}
		}
	}
}
