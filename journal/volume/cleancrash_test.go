package volume

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"lockstep/journal/vfs"
)

// cleanBeside cleans v again and again until the returned function is called.
func cleanBeside(v *Volume) (end func()) {
	var stop atomic.Bool
	var ended sync.WaitGroup
	ended.Go(func() {
		for !stop.Load() && v.Err() == nil {
			if err := v.Clean(); err != nil {
				if v.Err() == nil && !errors.Is(err, vfs.ErrPowerLost) {
					panic(err)
				}
				return
			}
		}
	})
	return func() { stop.Store(true); ended.Wait() }
}

const scriptSteps = 60 // a round: several segments, each cleaned while the next is written

// round opens what is there, compares it with the twins, counts live bytes, and runs scripts beside cleaning
// until the power goes at the n-th change.
func (g *rig) round(t *testing.T, all []*told, seed, round uint64, n int) {
	t.Helper()
	vs, err := OpenAll(g.options(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i, v := range vs {
		if r := v.Report(); r.Lossy != "" || strings.Contains(r.Rebuilt, "points") {
			t.Fatalf("volume %d: LOSSY %q, rebuilt %q", i+1, r.Lossy, r.Rebuilt)
		}
		all[i].settle(t, v)
		counted(t, v)
	}
	g.power.CutAtChange(n)
	for i, v := range vs {
		running.Go(func() {
			end := cleanBeside(v)
			all[i].run(v, scriptRand(seed, round, i), scriptSteps, func(int) {})
			end()
		})
	}
	running.Wait()
	for _, v := range vs {
		v.Abandon()
	}
}

// tryOpen opens and lets go, with the power gone at the n-th change of that.
func (g *rig) tryOpen(t *testing.T, n int) {
	t.Helper()
	g.power.CutAtChange(n)
	vs, err := OpenAll(g.options(), nil)
	if err != nil && !errors.Is(err, vfs.ErrPowerLost) {
		t.Fatal(err)
	}
	for _, v := range vs {
		v.Abandon()
	}
}

// TestACrashAtEveryStepOfCleaningLosesNothing ends the process at every write, sync, creation, rename and
// removal while segments are copied, retired, recycled and begun beside appends; the same directory goes
// through several such crashes, because what one crash leaves is the next one's start.
func TestACrashAtEveryStepOfCleaningLosesNothing(t *testing.T) {
	const crashes = 4
	for _, c := range []struct {
		volumes, stride int
	}{{1, 11}, {3, 97}} {
		t.Run(fmt.Sprint(c.volumes, " volumes"), func(t *testing.T) {
			points := 0
			for at, most := 1, 1<<30; at < most; at += c.stride {
				seed := uint64(at)
				r := rand.New(rand.NewPCG(seed, 5))
				g := newRig(t, c.volumes)
				all := make([]*told, c.volumes)
				for i := range all {
					all[i] = newTold()
				}
				keeps := []vfs.Keep{nil, func() bool { return true }, func() bool { return r.IntN(2) == 0 }}
				for round := range uint64(crashes) {
					n := at
					if round > 0 {
						n = 1 + r.IntN(200*c.volumes)
					}
					before := g.power.Changes()
					g.round(t, all, seed, round, n)
					if round == 0 && g.power.Changes() < before+n {
						most = at // the round ended before its power
					}
					g.crash(keeps[r.IntN(3)], r.IntN(2) == 0)
					g.tryOpen(t, 1+r.IntN(12))
					g.crash(keeps[r.IntN(3)], r.IntN(2) == 0)
					points += 2
				}
				g.round(t, all, seed, crashes, 1<<30)
			}
			t.Log(points, "crashes")
		})
	}
}

const (
	childKill  = "LOCKSTEP_TEST_KILL" // <seed> <change to die at> <rounds of each volume so far, as 3,5;0,7;…>
	killRounds = 4
)

func scriptRand(seed, round uint64, volume int) *rand.Rand {
	return rand.New(rand.NewPCG(seed<<8|round, uint64(volume)))
}

// scriptUntilKilled is the child: it runs the scripts beside cleaning over real files and ends itself with
// SIGKILL at a given change, wherever that is.
func scriptUntilKilled(root, order string) {
	fail := func(err error) {
		fmt.Println("error", err)
		os.Exit(1)
	}
	words := strings.Split(order, " ")
	seed, e1 := strconv.ParseUint(words[0], 10, 64)
	at, e2 := strconv.Atoi(words[1])
	if err := errors.Join(e1, e2); err != nil {
		fail(err)
	}
	left := atomic.Int64{}
	left.Store(int64(at))
	options := killOptions(root)
	for i := range options {
		real, err := vfs.NewReal(filepath.Join(options[i].Dir, "log"))
		if err != nil {
			fail(err)
		}
		f := vfs.NewFaulty(real)
		f.Set(vfs.Faults{Before: func() {
			if left.Add(-1) == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}})
		options[i].LogDir, options[i].SegmentBytes = f, killSegment
	}
	vs, err := OpenAll(options, nil)
	if err != nil {
		fail(err)
	}
	var running sync.WaitGroup
	for i, v := range vs {
		m := newTold()
		done := strings.Split(words[2], ";")[i]
		round := uint64(0)
		for _, k := range strings.Split(done, ",") {
			if k == "" {
				continue
			}
			n, err := strconv.Atoi(k)
			if err != nil {
				fail(err)
			}
			r := scriptRand(seed, round, i)
			for range n {
				m.script.went(m.script.draw(r))
			}
			round++
		}
		running.Go(func() {
			end := cleanBeside(v)
			m.run(v, scriptRand(seed, round, i), scriptSteps, func(n int) {
				if _, err := os.Stdout.WriteString(fmt.Sprintf("%d %d\n", i, n)); err != nil {
					os.Exit(1)
				}
			})
			end()
		})
	}
	running.Wait()
	os.Exit(0)
}

const killSegment = 16 << 10

// TestAProcessKilledWhileCleaningLosesNothing is the crash test above with a real process, real files and a
// real index: kill -9 keeps what was written and takes the memory of it.
func TestAProcessKilledWhileCleaningLosesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kills := 0
	for seed := range uint64(6) {
		root := t.TempDir()
		r := rand.New(rand.NewPCG(seed, 17))
		all := []*told{newTold(), newTold(), newTold()}
		var held [3][]string
		for round := range uint64(killRounds) {
			var rounds []string
			for i := range all {
				rounds = append(rounds, strings.Join(held[i], ","))
			}
			child := exec.Command(self)
			child.Env = append(os.Environ(), childDir+"="+root, fmt.Sprintf("%s=%d %d %s", childKill, seed, 10+r.IntN(220), strings.Join(rounds, ";")))
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				var i, n int
				if _, err := fmt.Sscanf(lines.Text(), "%d %d", &i, &n); err != nil {
					t.Fatalf("child said %q", lines.Text())
				}
				all[i].acked = n
			}
			if err := child.Wait(); err == nil {
				t.Logf("seed %d round %d: the child ended before its kill", seed, round)
			} else {
				kills++
			}
			options := killOptions(root)
			for i := range options {
				options[i].SegmentBytes = killSegment
			}
			vs, err := OpenAll(options, nil)
			if err != nil {
				t.Fatalf("seed %d round %d: %v", seed, round, err)
			}
			for i, v := range vs {
				if r := v.Report(); r.Lossy != "" || strings.Contains(r.Rebuilt, "point") {
					t.Fatalf("seed %d round %d volume %d: LOSSY %q, rebuilt %q", seed, round, i+1, r.Lossy, r.Rebuilt)
				}
				m := all[i]
				ahead, draws := m.script.clone(), scriptRand(seed, round, i)
				for range min(m.acked+scriptInFlight, scriptSteps) {
					st := ahead.draw(draws)
					ahead.went(st)
					m.steps = append(m.steps, st)
				}
				before := m.script.n
				m.settle(t, v)
				counted(t, v)
				held[i] = append(held[i], strconv.Itoa(m.script.n-before))
				v.Abandon()
			}
		}
	}
	t.Log(kills, "kills")
}
