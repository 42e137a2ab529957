package peer

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Source is a cluster of one broker and one topic with one partition, that gates its acknowledgements on mirrors
// as the draft says. Methods are safe for concurrent use.
type Source struct {
	Cluster string
	Topic   string

	mu      sync.Mutex
	moved   *sync.Cond
	addr    string
	ln      net.Listener
	conns   map[net.Conn]bool
	serving sync.WaitGroup

	id       [16]byte
	fetch    int16 // newest version served
	epoch    int32
	log      Log
	hw       int64
	mirrors  map[string]*registration
	refuse   perr.Code // to sync fetches, whatever is registered
	literal  bool      // gate on the draft's formula as it is written: nothing reported is "in sync"
	recovers []bool    // RecoveryPromotion of every Register
	lists    []List
	tagged   int // requests that carried fields of ours
}

type registration struct {
	registered bool
	released   bool
	ends       map[int32]int64
	isr        []int32
	minISR     int32
	reported   bool
}

// List is what one fetch said of the destination's replicas.
type List struct {
	Epoch  int32
	Offset int64
	Ends   map[int32]int64
	ISR    []int32
	MinISR int32
}

// StartSource listens on a free port of the loopback.
func StartSource(cluster, topic string, fetch int16) (*Source, error) {
	at, err := process.FreeAddress()
	if err != nil {
		return nil, err
	}
	s := &Source{Cluster: cluster, Topic: topic, id: [16]byte{0xbe, 0xef, 1}, fetch: fetch, epoch: 3,
		mirrors: map[string]*registration{}, addr: at, conns: map[net.Conn]bool{}}
	s.moved = sync.NewCond(&s.mu)
	s.log.Lead(s.epoch)
	if err := s.Listen(); err != nil {
		return nil, err
	}
	return s, nil
}

// Addr is where it listens; it stays the same over Drop and Listen.
func (s *Source) Addr() string { return s.addr }

// Listen begins to serve, or serves again after Drop.
func (s *Source) Listen() error {
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.addr, s.ln = ln.Addr().String(), ln
	s.mu.Unlock()
	s.serving.Go(func() { s.accept(ln) })
	return nil
}

// Drop ends the listener and every connection: the source is gone, its state stays.
func (s *Source) Drop() {
	s.mu.Lock()
	s.ln.Close()
	for c := range s.conns {
		c.Close()
	}
	s.moved.Broadcast()
	s.mu.Unlock()
	s.serving.Wait()
}

// change runs f on the state and lets everybody who waits look again.
func (s *Source) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.commit()
	s.moved.Broadcast()
}

// commit moves the high watermark by the draft's rule: the smallest end over the union of all in-sync replicas;
// the source's own are as far as its log. A mirror that has not reported holds it, unless literal.
func (s *Source) commit() {
	low := s.log.End()
	for _, m := range s.mirrors {
		if !m.registered {
			continue
		}
		if !m.reported && !s.literal || len(m.isr) < int(m.minISR) {
			return
		}
		for _, member := range m.isr {
			if end, ok := m.ends[member]; ok {
				low = min(low, end)
			}
		}
	}
	s.hw = max(s.hw, low)
}

// Produce appends a record and waits until it is committed; the time it was acknowledged at is on this machine's
// clock. The error is the context's: the record stays in the log.
func (s *Source) Produce(ctx context.Context, value string) (at time.Time, err error) {
	defer context.AfterFunc(ctx, func() { s.change(func() {}) })()
	var end int64
	s.change(func() {
		b := batch.Build(batch.Batch{BaseOffset: s.log.End(), LeaderEpoch: s.epoch, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1},
			[]batch.Record{{Timestamp: time.Now().UnixMilli(), Value: []byte(value)}})
		b, _, err = batch.Parse(b.Bytes)
		if err == nil {
			err = s.log.Append(b)
		}
		end = s.log.End()
	})
	if err != nil {
		return at, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	epoch := s.epoch
	for s.hw < end {
		if ctx.Err() != nil {
			return at, ctx.Err()
		}
		if s.epoch != epoch {
			return at, fmt.Errorf("the leader of epoch %d is gone", epoch)
		}
		s.moved.Wait()
	}
	return time.Now(), nil
}

// Release is the operator's --release-sync.
func (s *Source) Release(mirror string) {
	s.change(func() { s.mirrors[mirror] = &registration{released: true} })
}

// Registered reports whether acknowledgements wait for the mirror.
func (s *Source) Registered(mirror string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mirrors[mirror]
	return m != nil && m.registered
}

// Refuse answers every sync fetch with a code, 952 or 953; 0 ends that.
func (s *Source) Refuse(code perr.Code) { s.change(func() { s.refuse = code }) }

// Speak sets the newest Fetch version; connections that exist are dropped.
func (s *Source) Speak(fetch int16) {
	s.change(func() {
		s.fetch = fetch
		for c := range s.conns {
			c.Close()
		}
	})
}

// Literally makes the source follow the draft's formula to the letter, where what is missing is in sync (F01).
func (s *Source) Literally() { s.change(func() { s.literal = true }) }

// Elect makes a new leader, whose log ends at end; hw is what it knows of the high watermark. A log that ends
// below what was acknowledged is an unclean election. What mirrors reported is forgotten, as it is kept in a
// leader's memory.
func (s *Source) Elect(end, hw int64) {
	s.change(func() {
		s.log.Cut(end)
		s.epoch++
		s.log.Lead(s.epoch)
		s.hw = min(hw, s.log.End())
		for _, m := range s.mirrors {
			m.reported, m.ends, m.isr = false, nil, nil
		}
	})
}

// State is what the source knows.
type State struct {
	Epoch    int32
	End, HW  int64
	Recovers []bool
	Lists    []List
	Tagged   int // requests that carried fields of ours, which were skipped
}

// State may be called at any time.
func (s *Source) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{Epoch: s.epoch, End: s.log.End(), HW: s.hw, Recovers: slices.Clone(s.recovers), Lists: slices.Clone(s.lists), Tagged: s.tagged}
}

// register is the draft's admission table.
func (s *Source) register(mirror string, recovery bool) perr.Code {
	s.recovers = append(s.recovers, recovery)
	m := s.mirrors[mirror]
	if m != nil && m.released && !recovery {
		return perr.MirrorSyncReleasedRequiresFreshPromotion
	}
	if m == nil || !m.registered {
		s.mirrors[mirror] = &registration{registered: true}
	}
	return perr.None
}

// report takes the list of a fetch.
func (s *Source) report(m *registration, p *messages.FetchRequestMirroredTopicPartition) {
	m.reported, m.isr, m.minISR, m.ends = true, p.ISR, p.MinISR, map[int32]int64{}
	for _, r := range p.ReplicaLastOffsets {
		m.ends[r.ReplicaId] = r.LastFetchOffset
	}
}
