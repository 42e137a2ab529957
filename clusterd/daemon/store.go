package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/clusterd/config"
	"lockstep/journal"
	"lockstep/journal/log"
	"lockstep/journal/quorum"
	"lockstep/journal/vfs"
	"lockstep/journal/volume"
)

// store is the volumes of the process and the control quorum over them.
type store struct {
	cluster core.ClusterID
	machine Machine
	options []volume.Options
	slots   []broker.Volume
	quorum  *quorum.Quorum
	log     *slog.Logger

	attached atomic.Pointer[broker.Cluster] // read by the volumes' writers

	mu      sync.Mutex
	volumes []*volume.Volume // by broker; nil: could not be opened
}

// openStore opens every volume in parallel and the quorum over them. A volume that cannot be opened leaves
// its broker lost; a directory of another cluster or broker refuses to start.
func openStore(c config.Config, m Machine, logger *slog.Logger) (*store, error) {
	cluster, err := identify(c)
	if err != nil {
		return nil, err
	}
	s := &store{cluster: cluster, machine: m, log: logger}
	durability := log.Fsync
	if c.Durability == "os" {
		durability = log.OS
	}
	for i, dir := range c.Dirs() {
		id := core.ReplicaID(i + 1)
		s.options = append(s.options, volume.Options{
			Dir: dir, Cluster: cluster, Broker: id, SegmentBytes: c.SegmentBytes, Durability: durability, Logger: logger,
			OnSwitch: func(uint64) { s.snapshot(id) },
		})
		s.insert(id)
	}
	failures := make([]error, len(s.options))
	s.volumes, err = volume.OpenAll(s.options, func(id core.ReplicaID, err error) { failures[id-1] = err })
	if err != nil {
		return nil, err
	}
	for _, err := range failures {
		if errors.Is(err, vfs.ErrLocked) { // no lost volume: another process serves from it
			s.close()
			return nil, err
		}
	}
	var members []quorum.Member
	for i, v := range s.volumes {
		id := core.ReplicaID(i + 1)
		slot := broker.Volume{ID: id, Dir: s.options[i].Dir, Err: failures[i]}
		member := quorum.Member{ID: id}
		if v != nil {
			slot.Store, slot.Lossy, member.Journal = v, v.Report().Lossy != "", v
			s.report(id, v.Report())
		} else {
			logger.Error("volume not opened", "broker", int(id), "dir", slot.Dir, "err", failures[i])
		}
		s.slots, members = append(s.slots, slot), append(members, member)
	}
	s.quorum, err = quorum.Open(members, quorum.Options{
		Failed: func(id core.ReplicaID, err error) {
			logger.Error("volume left the control quorum", "broker", int(id), "err", err)
		},
		Lost: func(err error) { logger.Error("control quorum lost", "err", err) }, // its actors hear of it and end the process
	})
	if err != nil {
		s.close()
		return nil, fmt.Errorf("control quorum of cluster %s: %w", cluster, errors.Join(append(failures, err)...))
	}
	return s, nil
}

func (s *store) report(id core.ReplicaID, r volume.Report) {
	s.log.Info("volume opened", "broker", int(id), "last_index", r.Last, "clean", r.Clean)
	if r.Lossy != "" {
		s.log.Error("volume is LOSSY: its replicas are refilled from their peers", "broker", int(id), "why", r.Lossy)
	}
	if r.Rebuilt != "" {
		s.log.Warn("index of the volume was made again from its log", "broker", int(id), "why", r.Rebuilt)
	}
}

// snapshot is called when a volume begins a segment: what its actors need of the old ones goes into a
// snapshot, so that they can be recycled (D12).
func (s *store) snapshot(id core.ReplicaID) {
	if c := s.attached.Load(); c != nil {
		c.Snapshot(id)
	}
}

// insert takes the broker's disk as it is now.
func (s *store) insert(id core.ReplicaID) {
	if o := &s.options[id-1]; s.machine.Disk != nil {
		o.LogDir, o.BootID = s.machine.Disk(id)
	}
}

// reopen opens the volume of a broker that lost it, and lets it rejoin the control quorum (D4).
func (s *store) reopen(id core.ReplicaID) (journal.Volume, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.volumes[id-1]; old != nil {
		old.Abandon()
		s.volumes[id-1] = nil
	}
	s.insert(id)
	v, err := volume.OpenBeside(s.options[id-1], s.volumes)
	if err != nil {
		return nil, false, err
	}
	s.report(id, v.Report())
	if err := s.quorum.Rejoin(id, v); err != nil {
		v.Abandon()
		return nil, false, fmt.Errorf("rejoin the control quorum: %w", err)
	}
	s.volumes[id-1] = v
	return v, v.Report().Lossy != "", nil
}

func (s *store) close() {
	if s.quorum != nil {
		if err := s.quorum.Close(); err != nil {
			s.log.Error("close of the control quorum", "err", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range s.volumes {
		if v == nil {
			continue
		}
		if err := v.Close(); err != nil {
			s.log.Error("close of a volume", "broker", i+1, "err", err)
		}
	}
}
