package broker

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/journal/quorum"
	"lockstep/journal/vfs"
	"lockstep/journal/volume"
	"lockstep/protocol/perr"
)

// disks are three volumes whose commit logs forget, at a power loss, what was not synced.
type disks struct {
	*rig
	base    string
	boot    int
	powers  []*vfs.Power // one for all, or one per volume
	logs    []*vfs.Barrier
	volumes []*volume.Volume
}

func newDisks(t *testing.T, shared bool) *disks {
	d := &disks{rig: &rig{t: t}, base: t.TempDir()}
	d.powers = freshPowers(shared)
	for i, p := range d.powers {
		d.logs = append(d.logs, vfs.NewBarrier(fmt.Sprint("volume-", i+1), p))
	}
	d.open()
	return d
}

func freshPowers(shared bool) []*vfs.Power {
	one := &vfs.Power{}
	powers := []*vfs.Power{one, one, one}
	if !shared {
		powers[1], powers[2] = &vfs.Power{}, &vfs.Power{}
	}
	return powers
}

// open is a process start.
func (d *disks) open() {
	d.t.Helper()
	d.boot++
	var options []volume.Options
	for i, log := range d.logs {
		options = append(options, volume.Options{Dir: filepath.Join(d.base, fmt.Sprint(i)), Cluster: "dc1", Broker: core.ReplicaID(i + 1),
			SegmentBytes: 1 << 20, MemTableBytes: 1 << 20, LogDir: log, BootID: fmt.Sprint(d.boot), Retention: -1})
	}
	volumes, err := volume.OpenAll(options, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.volumes, d.stores = volumes, nil
	var members []quorum.Member
	for i, v := range volumes {
		d.stores = append(d.stores, v)
		members = append(members, quorum.Member{ID: core.ReplicaID(i + 1), Journal: v})
		d.t.Cleanup(v.Abandon)
	}
	if d.control, err = quorum.Open(members, quorum.Options{}); err != nil {
		d.t.Fatal(err)
	}
	d.start()
}

// lose cuts every power and starts again on what the disks held; of the unsynced sectors some survive.
func (d *disks) lose(random *rand.Rand, shared bool) {
	d.t.Helper()
	d.Cluster = nil // its process is dead: nobody closes it
	d.powers = freshPowers(shared)
	for i, log := range d.logs {
		d.logs[i] = log.Crash(d.powers[i], func() bool { return random.IntN(2) == 0 })
		d.volumes[i].Abandon()
	}
	d.open()
}

// load produces with acks=all from several clients until the first refusal of each, or n records, and
// returns what was acknowledged.
func (d *disks) load(id core.PartitionID, run string, n int) map[core.Offset]string {
	return d.loadAt(d.leader(id), run, n)
}

// loadAt is load at a replica that keeps leading, in whichever epoch: the power may be gone before it serves again.
func (d *disks) loadAt(leader *Replica, run string, n int) map[core.Offset]string {
	acked := map[core.Offset]string{}
	var mu sync.Mutex
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for i := range n {
				value := fmt.Sprintf("%s-%d-%d", run, client, i)
				answer := d.produce(leader, -1, value)
				if no, refused := answer.(partition.RefuseProduce); refused && no.Code == perr.NotLeaderOrFollower {
					continue
				}
				ack, ok := answer.(partition.AckProduce)
				if !ok {
					return
				}
				mu.Lock()
				acked[ack.Base] = value
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	return acked
}

func (d *disks) verify(id core.PartitionID, acked map[core.Offset]string) {
	d.t.Helper()
	got := d.values(d.leader(id))
	for at, value := range acked {
		if int(at) >= len(got) || got[at] != value {
			d.t.Fatalf("acknowledged %s at %d is lost; the log has %d records", value, at, len(got))
		}
	}
}

func TestNothingAcknowledgedIsLostWhenAllVolumesLosePower(t *testing.T) {
	const seed = 20
	random := rand.New(rand.NewPCG(seed, 1))
	d := newDisks(t, true)
	id := d.create("orders")
	acked := map[core.Offset]string{}
	for round := range 6 {
		d.powers[0].CutAtSync(20 + random.IntN(150))
		for at, value := range d.load(id, fmt.Sprint(round), 400) {
			acked[at] = value
		}
		d.lose(random, true)
		d.verify(id, acked)
	}
	if len(acked) < 50 {
		t.Fatalf("only %d records were acknowledged: the test cuts too early", len(acked))
	}
}

func TestOneVolumeLosesPowerAcksGoOnAndNothingIsLost(t *testing.T) {
	const seed = 21
	random := rand.New(rand.NewPCG(seed, 1))
	for victim := range 3 {
		d := newDisks(t, false)
		id := d.create("orders")
		acked := d.load(id, "before", 5)
		d.powers[victim].CutAtSync(10 + random.IntN(50))
		for at, value := range d.load(id, "during", 200) {
			acked[at] = value
		}
		broker := core.ReplicaID(victim + 1)
		d.eventually("the broker is fenced", func() bool { return !d.Newest().Brokers[broker].Live && !slices.Contains(d.isr(id), broker) })
		for at, value := range d.load(id, "after", 5) {
			acked[at] = value
		}
		d.verify(id, acked)
		d.lose(random, false)
		d.verify(id, acked)
		d.eventually("the ISR is whole again", func() bool { return len(d.isr(id)) == 3 })
		if got := d.load(id, "again", 5); len(got) != 20 {
			t.Fatalf("after the restart %d of 20 were acknowledged", len(got))
		}
	}
}
