package fetcher

import (
	"testing"

	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

func TestAFullDiskAtHomeIsReportedAndTriedAgain(t *testing.T) { // R11
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.produce(0, 5, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 5)
	r.home.change(func() { l.unsaved = 2 })
	r.peer.change(func() { r.peer.logs[0].cut(0, 2) })
	r.home.await(t, "the reason is reported", func() bool {
		return toldOf(r.home, func(c mirror.ReportFailure) bool {
			return c.Code == perr.KafkaStorageError && c.Text == "no space left on device"
		})
	})
	r.home.await(t, "there is room again, and the cut happens", func() bool { return l.end() == 0 && l.adopted == 2 })
	r.peer.produce(0, 3, false)
	r.upTo(0, 3)
}
