package volume

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/log"
	"lockstep/journal/vfs"
)

const part = journal.Stream("partition/AAAAAAAAAAAAAAAAAAAAAA/0/1")

// rig is a process with several volumes whose logs lie behind a write barrier.
type rig struct {
	root  string
	n     int
	power *vfs.Power
	dirs  []*vfs.Barrier
	boot  int
	dur   log.Durability
}

func newRig(t *testing.T, n int) *rig {
	g := &rig{root: t.TempDir(), n: n, power: &vfs.Power{}}
	for i := range n {
		g.dirs = append(g.dirs, vfs.NewBarrier(fmt.Sprint("volume-", i+1), g.power))
	}
	return g
}

func (g *rig) options() (os []Options) {
	for i := range g.n {
		os = append(os, Options{
			Dir: filepath.Join(g.root, fmt.Sprint(i+1)), Cluster: "here", Broker: core.ReplicaID(i + 1), SegmentBytes: 16 << 10,
			MemTableBytes: 1 << 20, Retention: -1, Reserve: 1, Foreground: true, LogDir: g.dirs[i], Durability: g.dur,
			BootID: fmt.Sprint("boot ", g.boot),
		})
	}
	return os
}

// crash loses the power. The index lies on the real disk and keeps everything: worse than what a power
// loss leaves, because it may then know more than the log. boot says whether the machine went down too.
func (g *rig) crash(keep vfs.Keep, machine bool) {
	g.power = &vfs.Power{}
	for i, d := range g.dirs {
		g.dirs[i] = d.Crash(g.power, keep)
	}
	if machine {
		g.boot++
	}
}

// model is what one volume was told and what it acknowledged.
type model struct {
	mu    sync.Mutex
	given []string
	acked int
}

// workload appends events, batches, snapshots, trims and drops until the power is gone or it is done.
func workload(v *Volume, m *model) {
	var all sync.WaitGroup
	tell := func(what string, call func(journal.Done)) {
		m.mu.Lock()
		m.given = append(m.given, what)
		n := len(m.given)
		m.mu.Unlock()
		all.Add(1)
		call(func(_ journal.Seq, err error) {
			if err == nil {
				m.mu.Lock()
				m.acked = n
				m.mu.Unlock()
			}
			all.Done()
		})
	}
	for i := range 16 {
		off := core.Offset(i)
		tell(fmt.Sprint("batch ", off), func(done journal.Done) {
			v.Append(part, []core.Entry{journaltest.Batch(off, off, 900), journaltest.Event(fmt.Sprint("after ", off))}, done)
		})
		if i%8 == 7 {
			all.Wait()
			tell(fmt.Sprint("snapshot ", off), func(done journal.Done) { v.Snapshot(part, []byte(fmt.Sprint(off)), done) })
			tell(fmt.Sprint("trim ", off-3), func(done journal.Done) {
				v.Append(part, []core.Entry{journaltest.Trim(off - 3)}, done)
			})
			all.Wait()
			_ = v.Clean() // fails once the power is gone
		}
	}
	all.Wait()
}

// check compares what is there with the model: a prefix of what was told, at least what was acknowledged.
func check(t *testing.T, v *Volume, m *model) {
	t.Helper()
	batches := map[string]bool{}
	found, err := v.ReadBatches(part, 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found {
		if want := journaltest.Batch(b.Base, b.Last, len(b.Bytes)); string(b.Bytes) != string(want.Payload) {
			t.Fatalf("batch %d came back changed", b.Base)
		}
		batches[fmt.Sprint("batch ", b.Base)] = true
	}
	// Find the longest prefix of given that explains what is there; it must reach acked.
	for n := len(m.given); n >= m.acked; n-- {
		want := map[string]bool{}
		snapshot, trim := "", core.Offset(0)
		for _, g := range m.given[:n] {
			var off core.Offset
			switch {
			case strings.HasPrefix(g, "batch"):
				want[g] = true
			case strings.HasPrefix(g, "snapshot"):
				snapshot = strings.TrimPrefix(g, "snapshot ")
			default:
				if _, err := fmt.Sscanf(g, "trim %d", &off); err != nil {
					t.Fatal(err)
				}
				trim = off
			}
		}
		for off := range trim {
			delete(want, fmt.Sprint("batch ", off))
		}
		replay := journaltest.Replayed(t, v, part)
		gotSnap := ""
		if len(replay) > 0 {
			gotSnap, _ = strings.CutPrefix(replay[0], "snapshot ")
			if gotSnap == replay[0] {
				gotSnap = ""
			}
		}
		same := len(want) == len(batches) && gotSnap == snapshot
		for b := range want {
			same = same && batches[b]
		}
		if same {
			return
		}
	}
	t.Fatalf("%d calls told, %d acknowledged; there are %v", len(m.given), m.acked, batches)
}

func TestPowerLossAtEverySyncLosesNothingAcknowledged(t *testing.T) {
	points := 0
	defer func() { t.Log(points, "power losses") }()
	for _, n := range []int{1, 3} {
		keeps := map[string]func(*rand.Rand) vfs.Keep{
			"nothing unsynced": func(*rand.Rand) vfs.Keep { return nil },
			"all of it":        func(*rand.Rand) vfs.Keep { return func() bool { return true } },
			"chance":           func(r *rand.Rand) vfs.Keep { return func() bool { return r.IntN(2) == 0 } },
		}
		step := 1
		if n > 1 {
			step = 13
		}
		for name, keep := range keeps {
			t.Run(fmt.Sprintf("%d volumes keep %s", n, name), func(t *testing.T) {
				step := step
				if name != "nothing unsynced" {
					step += 1
				}
				total := 1 << 30
				for at := 1; at < total; at += step {
					points++
					powerLoss(t, n, at, keep(rand.New(rand.NewPCG(uint64(at), 3))), &total)
				}
			})
		}
	}
}

func powerLoss(t *testing.T, n, at int, keep vfs.Keep, total *int) {
	g := newRig(t, n)
	g.power.CutAtSync(at)
	models := make([]*model, n)
	for i := range models {
		models[i] = &model{}
	}
	if vs, err := OpenAll(g.options(), nil); err == nil {
		var writers sync.WaitGroup
		for i, v := range vs {
			writers.Add(1)
			go func() {
				defer writers.Done()
				workload(v, models[i])
			}()
		}
		writers.Wait()
		cut := false
		for _, v := range vs {
			cut = cut || v.Err() != nil
			v.Abandon()
		}
		if !cut {
			*total = min(*total, at) // the power outlived the workload
		}
	} else if !errors.Is(err, vfs.ErrPowerLost) {
		t.Fatalf("sync %d: %v", at, err)
	}
	g.crash(keep, at%2 == 0)
	vs, err := OpenAll(g.options(), nil)
	if err != nil {
		t.Fatalf("power lost at sync %d: %v", at, err)
	}
	for i, v := range vs {
		if l := v.Report().Lossy; l != "" {
			t.Fatalf("power lost at sync %d: %s", at, l)
		}
		check(t, v, models[i])
		journaltest.Append(t, v, part, journaltest.Event("alive"))
		v.Abandon()
	}
}

// A disk that lies: it said a sync was done and has not the data. Alone, nothing can know; a sibling's
// witness, and the index of the volume itself, do.
func TestAVolumeBelowItsWitnessIsLossy(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine bool
		dur     log.Durability
		want    string
	}{
		{"machine went down: the sibling knows", true, log.Fsync, "witnessed by the volume of broker 2"},
		{"durability os promises nothing", true, log.OS, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, 2)
			g.dur = c.dur
			vs, err := OpenAll(g.options(), nil)
			if err != nil {
				t.Fatal(err)
			}
			lie := g.dirs[0].Crash(&vfs.Power{}, func() bool { return true }) // an old state of volume 1
			g.power = &vfs.Power{}
			for _, v := range vs {
				v.Abandon()
			}
			for i, d := range g.dirs {
				g.dirs[i] = d.Crash(g.power, func() bool { return true })
			}
			if vs, err = OpenAll(g.options(), nil); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				for _, v := range vs {
					journaltest.Append(t, v, part, journaltest.Event("x"))
				}
			}
			for _, v := range vs {
				v.Abandon()
			}
			g.crash(func() bool { return true }, c.machine)
			g.power = &vfs.Power{}
			g.dirs[0] = lie.Crash(g.power, func() bool { return true })
			g.dirs[1] = g.dirs[1].Crash(g.power, func() bool { return true })
			if vs, err = OpenAll(g.options(), nil); err != nil {
				t.Fatal(err)
			}
			got := vs[0].Report().Lossy
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Fatalf("volume 1 is LOSSY: %q, want %q", got, c.want)
			}
			if l := vs[1].Report().Lossy; l != "" {
				t.Fatalf("volume 2 is LOSSY: %s", l)
			}
			for _, v := range vs {
				journaltest.Append(t, v, part, journaltest.Event("goes on"))
				v.Abandon()
			}
		})
	}
}

func TestAnIndexAheadOfItsLogIsLossyAndRebuilt(t *testing.T) {
	g := newRig(t, 1)
	v, err := Open(g.options()[0])
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Append(t, v, part, journaltest.Event("kept"))
	old := g.dirs[0].Crash(&vfs.Power{}, func() bool { return true })
	v.Abandon()
	g.power = &vfs.Power{}
	g.dirs[0] = old.Crash(g.power, func() bool { return true })
	if v, err = Open(g.options()[0]); err != nil {
		t.Fatal(err)
	}
	journaltest.Append(t, v, part, journaltest.Event("lost"))
	v.Abandon()
	g.power = &vfs.Power{}
	g.dirs[0] = old.Crash(g.power, func() bool { return true })
	if v, err = Open(g.options()[0]); err != nil {
		t.Fatal(err)
	}
	if r := v.Report(); r.Lossy == "" || r.Rebuilt == "" {
		t.Fatalf("LOSSY: %q, rebuilt: %q", r.Lossy, r.Rebuilt)
	}
	if got := journaltest.Replayed(t, v, part); len(got) != 1 {
		t.Fatalf("replayed %q", got)
	}
	v.Abandon()
}

func TestAReplacedVolumeIsLossy(t *testing.T) {
	g := newRig(t, 2)
	vs, err := OpenAll(g.options(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vs {
		journaltest.Append(t, v, part, journaltest.Event("x"))
	}
	journaltest.Append(t, vs[1], part, journaltest.Event("y"))
	for _, v := range vs {
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	g.dirs[0] = vfs.NewBarrier("new disk", g.power)
	if vs, err = OpenAll(g.options(), nil); err != nil {
		t.Fatal(err)
	}
	if got := vs[0].Report().Lossy; !strings.Contains(got, "stood in its place") {
		t.Fatalf("LOSSY: %q", got)
	}
	for _, v := range vs {
		v.Abandon()
	}
}

func TestAVolumeReopenedBesideItsSiblingsIsComparedWithThem(t *testing.T) {
	g := newRig(t, 2)
	vs, err := OpenAll(g.options(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, v := range vs {
			journaltest.Append(t, v, part, journaltest.Event("x"))
		}
	}
	vs[0].Abandon()
	back, err := OpenBeside(g.options()[0], vs)
	if err != nil || back.Report().Lossy != "" {
		t.Fatalf("%v, LOSSY %q", err, back.Report().Lossy)
	}
	journaltest.Append(t, back, part, journaltest.Event("y"))
	back.Abandon()
	o := g.options()[0]
	o.LogDir = vfs.NewBarrier("new disk", g.power)
	if back, err = OpenBeside(o, vs); err != nil || !strings.Contains(back.Report().Lossy, "stood in its place") {
		t.Fatalf("%v, LOSSY %q", err, back.Report().Lossy)
	}
	back.Abandon()
	vs[1].Abandon()
}
