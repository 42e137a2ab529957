// Package transaction is the transaction coordinator, one shard of transactional ids at a time: who may write under an
// id, which partitions and groups its open transaction has, and how the transaction ends in all of them.
package transaction

import (
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"

	"lockstep/actors/core"
)

// Shards is the number of shards; it is part of the data on disk and never changes.
const Shards = 16

// Shard is the shard a transactional id belongs to, 0 to Shards-1.
func Shard(id string) int32 {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int32(h.Sum32() % Shards)
}

// Phase is where the newest transaction of an id stands.
type Phase int8

// The phases, as journaled.
const (
	Empty Phase = iota // initialized, no transaction since
	Ongoing
	PrepareCommit // decided: markers are being written
	PrepareAbort
	CompleteCommit // every marker is committed
	CompleteAbort
)

// String is the name on the wire.
func (p Phase) String() string {
	switch p {
	case Empty:
		return "Empty"
	case Ongoing:
		return "Ongoing"
	case PrepareCommit:
		return "PrepareCommit"
	case PrepareAbort:
		return "PrepareAbort"
	case CompleteCommit:
		return "CompleteCommit"
	case CompleteAbort:
		return "CompleteAbort"
	default:
		panic("transaction: unknown phase")
	}
}

// prepared: the end is decided and not yet everywhere.
func (p Phase) prepared() bool { return p == PrepareCommit || p == PrepareAbort }

// State has a hard part, txns, and a soft part, the rest.
type State struct {
	txns map[string]*TransactionRecord // never changed in place
	kept int64                         // bytes of txns, by bounds.go; follows from them
	open map[string]map[Target]bool    // where open transactions are; follows from txns

	settings Settings
	live     map[string]*live
	armed    int64 // mono ns of the earliest outstanding Tick; 0: none
}

// live is what a restart may forget of a transactional id. Decide changes only copies.
type live struct {
	deadline int64 // Ongoing: when it is aborted, mono ns
	expires  int64 // neither Ongoing nor prepared: when the id is forgotten, mono ns
	due      map[Target]due
	waiters  []waiter
}

// Target is where a transaction must be ended: a partition, or a consumer group.
type Target struct {
	Partition core.PartitionID
	Group     string // "": the partition
}

// due is one end that is not confirmed yet.
type due struct {
	asked   bool // an answer is on its way
	retryAt int64
	tries   int32
}

// waiter is a request that is answered when the prepared transaction is complete.
type waiter struct {
	end   *EndTxn
	init  *InitProducerID
	until int64 // then it is told to ask again
}

// kind orders waiters: who asked for the end, then who comes after it.
func (w waiter) kind() int {
	if w.end != nil {
		return 0
	}
	return 1
}

const (
	ms       = int64(1_000_000)
	holdNs   = 10_000 * ms // a client that is told CONCURRENT_TRANSACTIONS asks again after 20 to 100 ms, so it is made to wait here (T18)
	retryNs  = 50 * ms
	retryMax = 2_000 * ms
	lastUsed = math.MaxInt16 - 1 // epochs above it are never given to a producer
)

func newState() *State {
	return &State{txns: map[string]*TransactionRecord{}, open: map[string]map[Target]bool{}, settings: DefaultSettings(), live: map[string]*live{}}
}

func (r *TransactionRecord) phase() Phase { return Phase(r.Phase) }

// exhausted: the next epoch can end a transaction, and begin none (T17).
func exhausted(epoch int16) bool { return epoch >= lastUsed }

// NeedsFresh reports whether an end under this epoch needs a producer id that nobody has.
func NeedsFresh(epoch int16) bool { return exhausted(epoch) }

// IsPhase knows the names of phases, without regard to case.
func IsPhase(name string) bool {
	for p := Empty; p <= CompleteAbort; p++ {
		if strings.EqualFold(name, p.String()) {
			return true
		}
	}
	return false
}

// targets are all places where the transaction must be ended.
func (r *TransactionRecord) targets() (list []Target) {
	for _, p := range r.Partitions {
		list = append(list, Target{Partition: core.PartitionID{Topic: p.Topic, Index: p.Partition}})
	}
	for _, g := range r.Groups {
		list = append(list, Target{Group: g})
	}
	return list
}

func (l *live) clone() *live {
	c := *l
	c.due, c.waiters = maps.Clone(l.due), slices.Clone(l.waiters)
	return &c
}

// current is a copy of what is live of an id. After a restart an open transaction has all its time again, and a
// prepared one is ended once more in every place: they are told what they may know.
func (s *State) current(id string, now int64) *live {
	if l := s.live[id]; l != nil {
		return l.clone()
	}
	l := &live{}
	r := s.txns[id]
	switch {
	case r == nil:
	case r.phase() == Ongoing:
		l.deadline = now + int64(r.TimeoutMs)*ms
	case r.phase().prepared() && resumePrepared:
		l.owe(r.targets(), now)
	default:
		l.expires = now + s.settings.ExpirationMs*ms
	}
	return l
}

func (l *live) owe(targets []Target, now int64) {
	l.due = map[Target]due{}
	for _, t := range targets {
		l.due[t] = due{retryAt: now}
	}
}

// earliest is the first instant at which the id must be looked at, 0 if none.
func (l *live) earliest() int64 {
	first := int64(0)
	look := func(at int64) {
		if at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	look(l.deadline)
	look(l.expires)
	for _, d := range l.due {
		if !d.asked {
			look(d.retryAt)
		}
	}
	for _, w := range l.waiters {
		look(w.until)
	}
	return first
}
