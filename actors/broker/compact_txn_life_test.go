package broker

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// written is one record, where it was acknowledged.
type written struct {
	at   core.Offset
	text string
	in   *outcome // of its transaction; nil: none
}

// outcome of a transaction, once it is known.
type outcome struct{ ended, committed bool }

// author is one producer, which tells again what was not answered.
type author struct {
	id       int64
	sequence int32
	at       core.Offset // of its newest record
	in       *outcome
}

const transactional = 0x10

func (r *rig) write(id core.PartitionID, a *author, text string) written {
	r.t.Helper()
	key, value, alive := strings.Cut(text, "=")
	one := batch.Record{Timestamp: r.Now().Wall, Key: []byte(key)}
	if alive {
		one.Value = []byte(value)
	}
	header := batch.Batch{ProducerID: a.id, BaseSequence: a.sequence}
	if a.in != nil {
		header.Attributes = transactional
	}
	w := written{text: text, in: a.in}
	r.eventually("an ack of "+text, func() bool {
		b, answer := batch.Build(header, []batch.Record{one}), make(chan any, 1)
		r.leader(id).Ask(func(ref core.RequestID) partition.Command {
			return partition.AppendBatch{Ref: ref, Batch: b, Acks: -1, Deadline: r.Now().Mono + int64(5*time.Second), Client: "test", InTxn: true}
		}, func(a any) { answer <- a })
		ack, ok := (<-answer).(partition.AckProduce)
		w.at = ack.Base
		w.at = ack.Base
		return ok
	})
	a.sequence++
	a.at = w.at
	return w
}

func (r *rig) end(id core.PartitionID, a *author, commit bool) {
	r.t.Helper()
	r.eventually("a marker", func() bool {
		leader, answer := r.leader(id), make(chan any, 1)
		leader.Ask(func(ref core.RequestID) partition.Command {
			return partition.WriteMarker{Ref: ref, Epoch: leader.View().Epoch, ProducerID: a.id, Commit: commit}
		}, func(a any) { answer <- a })
		m, ok := (<-answer).(partition.MarkerWritten)
		return ok && m.Code == 0
	})
	*a.in = outcome{ended: true, committed: commit}
	a.in = nil
}

// copied is the view of who copies a log now, and the last sequence of each producer there.
func (r *rig) copied(replica *Replica) (partition.View, map[int64]int32) {
	r.t.Helper()
	v, m := replica.View(), partition.Machine()
	s := m.Init("partition/copy/0/broker-9")
	do := func(cmd partition.Command) {
		for _, ev := range m.Decide(s, r.Now(), cmd).Events {
			m.Apply(s, ev)
		}
	}
	do(partition.Follow{Epoch: v.Epoch, Leader: 1})
	do(partition.Aligned{From: 1, Epoch: v.Epoch, Term: 1, LastEpoch: core.NoEpoch, LEO: 0, Tail: v.LEO, LogStart: v.LogStart})
	for at := v.LogStart; at < v.HW; {
		stored, err := replica.Read(at, v.HW, 1<<20)
		if err != nil || len(stored) == 0 {
			r.t.Fatalf("read %d of %d: %v", at, v.HW, err)
		}
		push := partition.Replicate{From: 1, Epoch: v.Epoch, Term: 1, HW: v.HW, LogStart: v.LogStart}
		for _, one := range stored {
			b, _, err := batch.Parse(one.Bytes)
			if err != nil {
				r.t.Fatal(err)
			}
			push.Batches, at = append(push.Batches, b), one.Last+1
		}
		do(push)
	}
	if s := partition.Describe(s); s.LEO != v.HW || s.HW != v.HW || s.LSO < v.LSO {
		r.t.Errorf("a copy of a log with HW %d and LSO %d ends at %d, with HW %d and LSO %d", v.HW, v.LSO, s.LEO, s.HW, s.LSO)
	}
	sequences := map[int64]int32{}
	for _, f := range m.Decide(s, r.Now(), partition.DescribeProducers{}).Late {
		for _, p := range f.(partition.ProducersDescribed).Producers {
			sequences[p.ProducerID] = p.LastSequence
		}
	}
	return partition.Describe(s), sequences
}

// committed is the table of who reads committed data of a replica by a view, and up to where.
func (r *rig) committed(replica *Replica, v partition.View) (table map[string]string, below core.Offset) {
	r.t.Helper()
	table = map[string]string{}
	below = min(v.LSO, v.HW)
	aborted := v.Txns.AbortedIn(v.LogStart, below)
	for at := v.LogStart; at < below; {
		stored, err := replica.Read(at, below, 1<<20)
		if err != nil || len(stored) == 0 || stored[0].Base > at {
			r.t.Fatalf("read %d of %d: %v", at, below, err)
		}
		for _, s := range stored {
			b, _, err := batch.Parse(s.Bytes)
			if err != nil {
				r.t.Fatal(err)
			}
			at = s.Last + 1
			if b.IsControl() || b.IsTransactional() && slices.ContainsFunc(aborted, func(a partition.AbortedTxn) bool {
				return a.ProducerID == b.ProducerID && s.Base >= a.First && s.Base < a.Marker
			}) {
				continue
			}
			if err := b.Each(0, func(rec batch.Record) bool {
				if delete(table, string(rec.Key)); rec.Value != nil {
					table[string(rec.Key)] = string(rec.Value)
				}
				return true
			}); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	return table, below
}

// tableOf is what was committed in a range of offsets.
func tableOf(t *testing.T, all []written, from, below core.Offset) map[string]string {
	t.Helper()
	table := map[string]string{}
	slices.SortFunc(all, func(a, b written) int { return cmp.Compare(a.at, b.at) })
	for _, w := range all {
		if w.at < from {
			continue
		}
		if w.at >= below {
			break
		}
		if w.in != nil && !w.in.ended {
			t.Fatalf("%s at %d is below the last stable offset %d, and its transaction is open", w.text, w.at, below)
		}
		if key, value, alive := strings.Cut(w.text, "="); w.in == nil || w.in.committed {
			if delete(table, key); alive {
				table[key] = value
			}
		}
	}
	return table
}

// Any life of a compacted topic that transactions are written to, and whose head is deleted: whoever leads, whoever was away,
// wherever a pass or the process ends, readers of committed data have the newest committed value of each key.
func TestAnyLifeOfTransactionsKeepsTheTable(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 11))
			r := memoryRig(t, 3)
			id := r.compacts("t", "cleanup.policy", "compact,delete").ID()
			var all []written
			authors := []*author{{id: 1000}, {id: 2000}, {id: 2001}, {id: 2002}}
			down, number := core.NoReplica, 0
			check := func(replica *Replica) bool {
				shown := replica.View()
				copied, sequences := r.copied(replica)
				for what, v := range map[string]partition.View{"shows": shown, "gives who copies it": copied} {
					got, below := r.committed(replica, v)
					if want := tableOf(t, all, v.LogStart, below); !maps.Equal(got, want) {
						t.Errorf("broker %d %s %v below %d, want %v\n%s", replica.broker.id, what, got, below, want, r.shown(replica))
					}
				}
				for _, a := range authors {
					if last, known := sequences[a.id]; a.sequence > 0 && shown.HW == shown.LEO && (!known || last != a.sequence-1) {
						t.Errorf("broker %d gives who copies it %d, %v as the last sequence of producer %d, want %d", replica.broker.id, last, known, a.id, a.sequence-1)
					}
				}
				return !t.Failed()
			}
			for range 80 {
				switch rng.IntN(12) {
				case 0, 1:
					r.look()
				case 2:
					for _, b := range r.Brokers() {
						b.compactor.inbox.Post(struct{}{})
					}
				case 3:
					if down == core.NoReplica {
						down = core.ReplicaID(1 + rng.IntN(3))
						r.change(func(reply func(any)) { r.StopBroker(down, reply) })
					} else {
						r.change(func(reply func(any)) { r.StartBroker(down, reply) })
						down = core.NoReplica
					}
				case 4:
					if down == core.NoReplica && rng.IntN(3) == 0 {
						r.crash()
					}
				case 5:
					r.change(func(reply func(any)) { r.ElectPreferred(id, reply) })
				case 6:
					leader, before := r.leader(id), core.Offset(0)
					if v := leader.View(); rng.IntN(2) == 0 {
						before = v.LogStart + core.Offset(rng.IntN(int(v.HW-v.LogStart)+1))
					}
					for _, a := range authors { // one whose marker alone is left has to begin with sequence 0, as in Kafka
						if a.sequence > 0 {
							before = min(before, a.at)
						}
					}
					r.change(func(reply func(any)) {
						leader.Ask(func(ref core.RequestID) partition.Command { return partition.DeleteRecords{Ref: ref, Before: before} }, reply)
					})
				default:
					a := authors[rng.IntN(len(authors))]
					if a.in != nil && rng.IntN(2) == 0 {
						r.end(id, a, rng.IntN(2) == 0)
						break
					}
					if a.id >= 2000 && a.in == nil {
						a.in = &outcome{}
					}
					number++
					text := fmt.Sprint("k", rng.IntN(5))
					if rng.IntN(4) > 0 {
						text += fmt.Sprint("=", number)
					}
					all = append(all, r.write(id, a, text))
				}
				if !check(r.leader(id)) {
					return
				}
			}
			for _, a := range authors {
				if a.in != nil {
					r.end(id, a, false)
				}
			}
			if down != core.NoReplica {
				r.change(func(reply func(any)) { r.StartBroker(down, reply) })
			}
			all = append(all, r.write(id, authors[0], "end=1"))
			end := r.leader(id).View().LEO
			for range 3 {
				for _, b := range r.Brokers() {
					r.eventually("the replicas to agree", func() bool {
						replica, ok := b.Replica(id)
						return ok && replica.View().HW == end && replica.View().LSO == end && check(replica) || t.Failed()
					})
				}
				r.look()
			}
		})
	}
}
