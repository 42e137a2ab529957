package volume

import (
	"testing"

	"lockstep/journal/journaltest"
)

type dir struct {
	path    string
	segment int64
}

func (d *dir) Open(t *testing.T) *Volume {
	t.Helper()
	v, err := Open(Options{Dir: d.path, Cluster: "here", Broker: 1, SegmentBytes: d.segment, MemTableBytes: 4 << 20, Retention: -1, Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Abandon)
	return v
}

func (d *dir) Crash(_ *testing.T, v *Volume) { v.Abandon() }

func TestVolumeKeepsTheContract(t *testing.T) {
	for name, segment := range map[string]int64{"one segment": 1 << 20, "many segments": 16 << 10} {
		t.Run(name, func(t *testing.T) {
			journaltest.Volume(t, func(t *testing.T) journaltest.Disk[*Volume] { return &dir{t.TempDir(), segment} })
		})
	}
}
