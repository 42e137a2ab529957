package quorum

import (
	"fmt"
	"path/filepath"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal/journaltest"
	"lockstep/journal/volume"
)

// stores are real volumes below the quorum.
type stores struct {
	root string
	open []*volume.Volume
}

func (s *stores) Open(t *testing.T) *Quorum {
	t.Helper()
	s.release()
	var options []volume.Options
	for i := 1; i <= 3; i++ {
		options = append(options, volume.Options{
			Dir: filepath.Join(s.root, fmt.Sprint(i)), Cluster: "here", Broker: core.ReplicaID(i), SegmentBytes: 16 << 10,
			MemTableBytes: 1 << 20, Retention: -1, Reserve: 1,
		})
	}
	var err error
	if s.open, err = volume.OpenAll(options, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.release)
	var members []Member
	for i, v := range s.open {
		if lossy := v.Report().Lossy; lossy != "" {
			t.Fatal(lossy)
		}
		members = append(members, Member{ID: core.ReplicaID(i + 1), Journal: v})
	}
	q, err := Open(members, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (s *stores) release() {
	for _, v := range s.open {
		v.Abandon()
	}
	s.open = nil
}

func (s *stores) Crash(*testing.T, *Quorum) { s.release() }

func TestQuorumOverVolumesKeepsTheContract(t *testing.T) {
	journaltest.Journal(t, func(t *testing.T) journaltest.Disk[*Quorum] { return &stores{root: t.TempDir()} })
}
