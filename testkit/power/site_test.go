// Package power proves that nothing acknowledged depends on bytes that are not on a disk yet, at the source
// or at the destination. kill -9 cannot show it, since the page cache survives that: here two clusters
// stand on disks that forget what was not synced.
package power

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"testing"
	"time"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/clusterd/config"
	"lockstep/clusterd/daemon"
	"lockstep/clusterd/process"
	"lockstep/journal/vfs"
)

const brokers = 3

// disk is what holds the commit log of one broker. Its power can be cut alone.
type disk struct {
	power *vfs.Power
	log   *vfs.Barrier
	older *vfs.Barrier // what it held when the power before went away
	boots int
}

// replace puts a disk in the place of one that lost power: what was synced, and what keep says of the rest.
func (d *disk) replace(from *vfs.Barrier, keep vfs.Keep) {
	d.power = &vfs.Power{}
	d.older, d.log = d.log, from.Crash(d.power, keep)
	d.boots++
}

// site is one datacenter: a whole clusterd of this process, on its own disks.
type site struct {
	t       *testing.T
	id      string
	dir     string
	port    int // of the first Kafka listener; NATS and HTTP follow them
	disks   [brokers]*disk
	cluster *broker.Cluster
	opened  func(*broker.Cluster) // told before the cluster mirrors
	stop    context.CancelFunc
	ended   chan error
}

func newSite(t *testing.T, id string) *site {
	t.Helper()
	port, err := process.FreePorts(brokers + 2)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, id: id, dir: t.TempDir(), port: port, opened: func(*broker.Cluster) {}}
	for i := range s.disks {
		power := &vfs.Power{}
		s.disks[i] = &disk{power: power, log: vfs.NewBarrier(fmt.Sprint(id, "-", i+1), power)}
	}
	t.Cleanup(s.die)
	s.start()
	return s
}

func (s *site) seeds() (list []string) {
	for i := range brokers {
		list = append(list, fmt.Sprint("127.0.0.1:", s.port+i))
	}
	return list
}

func (s *site) start() {
	s.t.Helper()
	conf := config.Config{ClusterID: s.id, DataDir: []string{s.dir}, Brokers: brokers, KafkaListen: []string{s.seeds()[0]},
		NATSListen: fmt.Sprint("127.0.0.1:", s.port+brokers), HTTPListen: fmt.Sprint("127.0.0.1:", s.port+brokers+1), Durability: "fsync", SegmentBytes: 1 << 20}
	if err := conf.Check(); err != nil {
		s.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("POWER_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("dc", s.id)
	}
	machine := daemon.Machine{
		Disk: func(id core.ReplicaID) (vfs.FS, string) {
			d := s.disks[id-1]
			return slow{d.log}, fmt.Sprint("boot-", d.boots)
		},
		Opened: func(c *broker.Cluster) {
			s.cluster = c
			s.opened(c)
		},
		Exit: func(string) {}, // a machine without power does nothing more
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.ended = stop, make(chan error, 1)
	r, w := io.Pipe()
	go func() {
		err := daemon.RunOn(ctx, machine, conf, log, w)
		w.CloseWithError(fmt.Errorf("%s ended: %w", s.id, err))
		s.ended <- err
	}()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		s.t.Fatal(err)
	}
}

// die removes the process that stands on dead disks.
func (s *site) die() {
	if s.stop != nil {
		s.stop()
		<-s.ended
		s.stop = nil
	}
}

// cut takes the power of some disks away, within microseconds.
func (s *site) cut(victims []int) {
	for _, i := range victims {
		s.disks[i].power.Cut()
	}
}

// reopen starts the cluster again on what its disks held.
func (s *site) reopen(keep vfs.Keep) {
	s.t.Helper()
	s.die()
	for _, d := range s.disks {
		d.replace(d.log, keep)
	}
	s.start()
}

// reinsert gives one running broker its disk back and waits until it is in sync everywhere.
func (s *site) reinsert(victim int, keep vfs.Keep) {
	s.t.Helper()
	id := core.ReplicaID(victim + 1)
	s.eventually("the broker without power is fenced", func() bool { return !s.cluster.Newest().Brokers[id].Live })
	s.disks[victim].replace(s.disks[victim].log, keep)
	resp, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/v1/brokers/%d/start", s.port+brokers+1, id), "", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: start of broker %d: %s", s.id, id, text)
	}
	if s.cluster.Newest().Brokers[id].Lossy {
		s.t.Errorf("%s: broker %d is LOSSY, though its disk kept all that it had synced", s.id, id)
	}
}

// whole waits until every replica is in sync.
func (s *site) whole() {
	s.t.Helper()
	s.eventually("every replica is in sync", func() bool {
		for _, topic := range s.cluster.Newest().Topics {
			for _, p := range topic.Partitions {
				if len(p.ISR) < brokers {
					return false
				}
			}
		}
		return true
	})
}

func (s *site) eventually(what string, ok func() bool) {
	s.t.Helper()
	until(s.t, s.id+": "+what, ok)
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("timed out: " + what)
		}
	}
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
