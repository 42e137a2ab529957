package highwater

import "lockstep/actors/core"

// HighWatermark is the end of what the ledger knows as committed: a durable lower bound of HW, Unknown
// for an empty ledger.
func HighWatermark(s *State) core.Offset { return s.hard.To }

// Description is what describe and metrics show of one high watermark. Released facts only: take it
// from a state the shell has released.
type Description struct {
	Leading   bool
	Epoch     core.LeaderEpoch
	Mode      Mode
	HW        core.Offset
	LEO       core.Offset // the leader's own, durable; Unknown until reported
	R         core.Offset
	Floor     core.Offset // stated to the source in the adopted epoch
	Maximal   []core.ReplicaID
	Replicas  []ReplicaLEO
	Waiters   int
	WaitBytes int64
	Gates     PublishGates
	Weak      []WeakClient
}

// WeakClient counts acks=0/1 answers on a gated partition in this leader epoch (R13).
type WeakClient struct {
	Client  string
	Acks    int16
	Batches int64
}

// Describe reads a state; it keeps nothing of it.
func Describe(s *State) Description {
	d := Description{
		Leading: s.leading, Epoch: s.epoch, Mode: s.mode, HW: s.hw, LEO: s.leo(), R: s.r, Floor: s.floor,
		Waiters: len(s.waiters), WaitBytes: s.waitBytes, Gates: s.gatesNow(),
	}
	if s.leading {
		d.Maximal = s.maximalISR()
	}
	for _, p := range s.replicas {
		d.Replicas = append(d.Replicas, ReplicaLEO{Replica: p.Replica, LEO: p.LEO})
	}
	for _, t := range s.weak {
		d.Weak = append(d.Weak, WeakClient{Client: t.Client, Acks: t.Acks, Batches: t.Total})
	}
	return d
}
