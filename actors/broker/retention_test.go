package broker

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/journal/quorum"
	"lockstep/journal/volume"
)

// M04: what a registered mirror has yet to get stays, whether it is armed or was never heard.
func TestRetentionWaitsForRegisteredMirrors(t *testing.T) {
	view := partition.View{Epoch: 5, HW: 100}
	one := []image.Gate{{}}
	gates := func(epoch core.LeaderEpoch, floors ...core.Offset) highwater.PublishGates {
		g := highwater.PublishGates{Epoch: epoch}
		for _, f := range floors {
			g.Gates = append(g.Gates, highwater.GateState{Floor: f})
		}
		return g
	}
	for name, c := range map[string]struct {
		gates      highwater.PublishGates
		registered []image.Gate
		want       core.Offset
	}{
		"nobody is registered":                      {gates(5), nil, 100},
		"a mirror that is behind":                   {gates(5, 70), one, 70},
		"a mirror that is ahead":                    {gates(5, 120), one, 100},
		"the slowest of two":                        {gates(5, 90, 60), append(one, one...), 60},
		"a mirror that was not heard":               {gates(5, core.Unknown), one, core.Unknown},
		"a registration that is not applied yet":    {gates(5), one, core.Unknown},
		"gates of the leader before":                {gates(4, 90), one, core.Unknown},
		"a registration that the image has not yet": {gates(5, 70), nil, 70},
	} {
		if got := held(c.gates, c.registered, view); got != c.want {
			t.Errorf("%s: up to %d, want %d", name, got, c.want)
		}
	}
}

// The space of deleted records comes back: snapshots at a segment's begin let go of what was replayed, cleaning of the rest.
func TestTheSpaceOfDeletedRecordsComesBack(t *testing.T) {
	r := &rig{t: t}
	var cluster atomic.Pointer[Cluster]
	dir := t.TempDir()
	v, err := volume.Open(volume.Options{Dir: dir, Cluster: "dc1", Broker: 1, SegmentBytes: 1 << 20, MemTableBytes: 1 << 20, Retention: -1, Reserve: 1, Spares: 1,
		OnSwitch: func(uint64) {
			if c := cluster.Load(); c != nil {
				c.Snapshot(1)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Abandon)
	q, err := quorum.Open([]quorum.Member{{ID: 1, Journal: v}}, quorum.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.stores, r.control = append(r.stores, v), q
	r.start()
	cluster.Store(r.Cluster)
	segments := func() int {
		names, err := os.ReadDir(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, name := range names {
			if strings.HasSuffix(name.Name(), ".seg") {
				n++
			}
		}
		return n
	}
	leader := r.leader(r.create("t"))
	value := strings.Repeat("x", 64<<10)
	for range 16 * 12 {
		r.mustAck(leader, value)
	}
	if err := v.Clean(); err != nil {
		t.Fatal(err)
	}
	full := segments()
	if full < 12 {
		t.Fatalf("12 MiB lie in %d segments of 1 MiB", full)
	}
	answer := make(chan any, 1)
	leader.Ask(func(ref core.RequestID) partition.Command {
		return partition.DeleteRecords{Ref: ref, Before: core.Unknown}
	}, func(a any) { answer <- a })
	if d := (<-answer).(partition.RecordsDeleted); d.Code != 0 || d.LogStart != 16*12 {
		t.Fatalf("%+v", d)
	}
	for range 20 { // into the next segment
		r.mustAck(leader, value)
	}
	if err := v.Clean(); err != nil {
		t.Fatal(err)
	}
	if left := segments(); left > full/3 {
		t.Fatalf("%d of %d segments are left", left, full)
	}
	if len(r.values(leader)) != 20 {
		t.Fatalf("%d records are left", len(r.values(leader)))
	}
}
