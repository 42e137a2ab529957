package sim

import (
	"fmt"
	"math/rand/v2"

	"lockstep/actors/core"
)

// site is one datacenter: the disks of one cluster and whichever process runs on them. Site 0 is the source.
type site struct {
	world  *world
	index  int
	id     core.ClusterID
	random *rand.Rand

	volumes []*disk // one per broker, ids 1..N
	control *disk   // the control quorum over all volumes
	proc    *process
	lives   int   // processes so far
	gone    bool  // lost for good, disks and all
	offset  int64 // ms of its wall clock
	drift   int64 // parts per million of both its clocks

	names map[logKey]string // of partition streams
}

type logKey struct {
	broker core.ReplicaID
	id     core.PartitionID
}

// stream is the name of a replica's stream.
func (s *site) stream(broker core.ReplicaID, id core.PartitionID) string {
	key := logKey{broker, id}
	name := s.names[key]
	if name == "" {
		name = partitionStream(id, broker)
		s.names[key] = name
	}
	return name
}

func newSite(w *world, index, brokers int) *site {
	s := &site{world: w, index: index, id: core.ClusterID(fmt.Sprintf("dc%d", index+1)), names: map[logKey]string{}}
	s.random = stream(w.seed, "site/%s", s.id)
	for b := range brokers {
		s.volumes = append(s.volumes, newDisk(w, fmt.Sprintf("%s/%d", s.id, b+1)))
	}
	s.control = newDisk(w, string(s.id)+"/control")
	return s
}

// boot starts a process on the site's disks.
func (s *site) boot() {
	if s.gone || s.proc != nil && !s.proc.dead {
		return
	}
	s.lives++
	s.proc = newProcess(s)
	s.proc.start()
}

// alive is the running process, nil if there is none.
func (s *site) alive() *process {
	if s.proc == nil || s.proc.dead {
		return nil
	}
	return s.proc
}

// serving is the running process once its listeners are open.
func (s *site) serving() *process {
	if p := s.alive(); p != nil && p.ready {
		return p
	}
	return nil
}

// kill ends the process and with it every broker of the site: they share it (default!). Memory is gone, and
// of what was being written a prefix is on disk.
func (s *site) kill() {
	p := s.alive()
	if p == nil {
		return
	}
	for _, audit := range p.audits {
		audit()
	}
	p.dead = true
	s.world.say("%s: the process dies", s.id)
	s.world.net.processDied(s)
	for _, d := range s.volumes {
		d.crash()
	}
	s.control.crash()
	s.world.oracle.checkSite(s, "a crash")
}

// lose is the end of a datacenter: nothing of it answers ever again.
func (s *site) lose() {
	if p := s.alive(); p != nil {
		p.dead = true
	}
	s.gone = true
	s.world.say("%s is lost for good", s.id)
	s.world.oracle.siteLost(s)
}

// wall is the site's clock, Unix ms.
func (s *site) wall() int64 { return epoch + s.stretch(s.world.now)/ms + s.offset }

// stretch turns true time into what the site's clock counts.
func (s *site) stretch(d int64) int64 { return d + d/1000*s.drift/1000 }
