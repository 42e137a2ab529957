package broker

import (
	"fmt"
	"io"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/journal/quarantine"
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
	if leader.lagging.wait(r, e, leader.View) {
		return
	}
	view := leader.View()
	if !view.IsLeader || view.Epoch != e.Epoch {
		return
	}
	throttles := r.throttlesOf(leader)
	room := r.admitted(throttles)
	if room == 0 {
		r.later(e)
		return
	}
	stored, err := leader.read(e.From, view.LEO, room)
	if err != nil {
		r.broker.cluster.system.Logger.Warn("follower cannot read its leader's log", "replica", string(r.stream), "from", int64(e.From), "err", err)
		return
	}
	// What the log stands under came with Aligned, in order; this view may be older.
	push := partition.Replicate{From: e.Leader, Epoch: e.Epoch, Term: e.Term, HW: view.HW, LogStart: view.LogStart, Adopted: core.NoEpoch, SourceHW: core.Unknown}
	for _, s := range stored {
		b, _, err := batch.Parse(s.Bytes)
		if err != nil {
			r.broker.cluster.system.Logger.Error("leader's log holds an unreadable batch", "replica", string(leader.stream), "base", int64(s.Base), "err", err)
			return
		}
		push.Batches = append(push.Batches, b)
		for _, t := range throttles {
			t.charge(len(s.Bytes))
		}
	}
	r.partition.Tell(push)
}

// quarantine copies what a truncation will cut into a side file before anything is cut (R11, F43). When it
// fails nothing is cut, and whoever asked for the truncation is told, so that it asks again.
func (r *Replica) quarantine(e partition.QuarantineRange) {
	log := r.broker.cluster.system.Logger.With("replica", string(r.stream), "mirror", string(e.Mirror), "from", int64(e.From), "to", int64(e.To))
	path, err := quarantine.Write(r.broker.slot.Dir, quarantine.Note{
		Topic: r.id.Topic.String(), Partition: r.id.Index, From: int64(e.From), To: int64(e.To), Mirror: string(e.Mirror),
		SourceEpoch: int32(e.SourceEpoch), LeaderEpoch: int32(e.Epoch), Reason: e.Reason, Time: time.UnixMilli(r.broker.cluster.Now().Wall).UTC(),
	}, func(w io.Writer) error { return r.copyRange(w, e.From, e.To) })
	if err != nil {
		log.Error("quarantine failed, nothing was truncated: free space on the volume", "err", err)
		r.partition.Tell(partition.QuarantineFailed{Session: e.Session, From: e.From, To: e.To, Text: err.Error()})
		return
	}
	log.Warn("range moved to quarantine; clusterctl journal quarantine lists it", "reason", e.Reason, "file", path)
	r.partition.Tell(partition.Quarantined{Session: e.Session, From: e.From, To: e.To})
}

func (r *Replica) copyRange(w io.Writer, from, to core.Offset) error {
	for at := from; at < to; {
		batches, err := r.read(at, to, catchUpBytes)
		if err != nil {
			return err
		}
		if len(batches) == 0 {
			return fmt.Errorf("log of %s ends at %d, before %d", r.stream, at, to)
		}
		for _, b := range batches {
			if _, err := w.Write(b.Bytes); err != nil {
				return err
			}
			at = b.Last + 1
		}
	}
	return nil
}
