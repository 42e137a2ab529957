package broker

import (
	"fmt"
	"os"
	"path/filepath"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// catchUpBytes is how much a follower reads of its leader's journal at a time (D7).
const catchUpBytes = 1 << 20

// catchUp reads the leader's log for this follower and hands it over as if it had been pushed. A
// follower that hears nothing, because the leader is gone or the read failed, asks again.
func (r *Replica) catchUp(e partition.ReadLeaderLog) {
	leader, ok := r.broker.cluster.replica(e.Leader, r.id)
	if !ok {
		return
	}
	view := leader.View()
	if !view.IsLeader || view.Epoch != e.Epoch {
		return
	}
	stored, err := leader.read(e.From, view.LEO, catchUpBytes)
	if err != nil {
		r.broker.cluster.system.Logger.Warn("follower cannot read its leader's log", "replica", string(r.stream), "from", int64(e.From), "err", err)
		return
	}
	push := partition.Replicate{From: e.Leader, Epoch: e.Epoch, Term: e.Term, HW: view.HW, LogStart: view.LogStart, Adopted: view.Adopted}
	for _, s := range stored {
		b, _, err := batch.Parse(s.Bytes)
		if err != nil {
			r.broker.cluster.system.Logger.Error("leader's log holds an unreadable batch", "replica", string(leader.stream), "base", int64(s.Base), "err", err)
			return
		}
		push.Batches = append(push.Batches, b)
	}
	r.partition.Tell(push)
}

// quarantine copies what a truncation will cut into a side file before anything is cut (R11, F43). When
// it fails the truncation does not happen: the fetcher runs its divergence check again.
func (r *Replica) quarantine(e partition.QuarantineRange) {
	path, err := r.writeQuarantine(e.From, e.To)
	if err != nil {
		r.broker.cluster.system.Logger.Error("quarantine failed, nothing was truncated", "replica", string(r.stream), "from", int64(e.From), "to", int64(e.To), "err", err)
		return
	}
	r.broker.cluster.system.Logger.Warn("range moved to quarantine", "replica", string(r.stream), "from", int64(e.From), "to", int64(e.To), "reason", e.Reason, "file", path)
	r.partition.Tell(partition.Quarantined{Session: e.Session, From: e.From, To: e.To})
}

func (r *Replica) writeQuarantine(from, to core.Offset) (path string, err error) {
	dir := filepath.Join(r.broker.slot.Dir, "quarantine")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(dir, fmt.Sprintf("%s-%d-%d-%d.batches", r.id.Topic, r.id.Index, from, to))
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for at := from; at < to; {
		batches, err := r.read(at, to, catchUpBytes)
		if err != nil {
			return "", err
		}
		if len(batches) == 0 {
			return "", fmt.Errorf("log of %s ends at %d, before %d", r.stream, at, to)
		}
		for _, b := range batches {
			if _, err := f.Write(b.Bytes); err != nil {
				return "", err
			}
			at = b.Last + 1
		}
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	return path, syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
