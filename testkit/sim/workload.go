package sim

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// workload is everybody who uses the clusters' topics: producers of unique values, and consumers.
type workload struct {
	world     *world
	producers []*producer
	consumers []*consumer
	stopped   bool // no new batches
}

// producer sends bursts of batches of unique values to one partition, all in flight at once, and sends what is not
// answered again, in order and with the same sequences, until it is or its time is over.
type producer struct {
	load       *workload
	index      int
	random     *rand.Rand
	site       *site
	id         core.PartitionID
	acks       int16
	idempotent bool
	think      int64
	timeout    int64 // of one request, ns: what the client says it will wait
	patience   int64 // for one burst
	most       int   // batches of a burst: never more than a leader knows duplicates of

	pid    int64 // -1: asks for one first
	epoch  int16
	seq    int32
	next   uint32
	flying []*sending // oldest first
	burst  int        // batches that the present burst began with
	unsaid int        // batches of this try that are not answered
	leaves bool       // its topic was deleted: no new batches
	try    uint64
}

const mostRecords = 3 // of a batch

// sending is a batch on its way.
type sending struct {
	records []batch.Record
	values  []uint64
	seq     int32
	tries   int
	since   int64
	sites   int // clusters it was sent to
	open    int // tries of which nobody knows that nothing was appended
	crc     uint32
	last    *site
}

func (l *workload) addProducer(s *site, id core.PartitionID) *producer {
	p := &producer{load: l, index: len(l.producers), site: s, id: id, acks: -1, idempotent: true, pid: -1}
	p.random = stream(l.world.seed, "producer/%d", p.index)
	switch p.random.IntN(8) {
	case 0:
		p.acks, p.idempotent = 1, false
	case 1, 2:
		p.idempotent = false
	}
	p.think = logUniform(p.random, 40*ms, sec)
	if p.random.IntN(6) == 0 {
		p.think = logUniform(p.random, 3*ms, 40*ms)
	}
	p.timeout = pick(p.random, []int64{2 * sec, 5 * sec, 10 * sec, 30 * sec})
	p.patience = p.timeout + pick(p.random, []int64{0, 10 * sec, 60 * sec})
	p.most = pick(p.random, []int{1, 2, 3, 5, 5})
	l.producers = append(l.producers, p)
	l.world.after(within(p.random, 0, sec), p.work)
	return p
}

func (p *producer) after(d int64, do func()) { p.load.world.after(d, do) }

// work begins the next burst.
func (p *producer) work() {
	w := p.load.world
	if len(p.flying) > 0 || p.load.stopped || p.leaves || p.site.gone {
		return
	}
	if p.idempotent && p.pid < 0 {
		p.askID()
		return
	}
	p.burst = 1 + p.random.IntN(p.most)
	for range p.burst {
		s := &sending{since: w.now, seq: p.seq}
		for range 1 + p.random.IntN(mostRecords) {
			p.next++
			value := uint64(p.index+1)<<32 | uint64(p.next)
			s.values = append(s.values, value)
			s.records = append(s.records, batch.Record{Timestamp: p.site.wall(), Value: binary.BigEndian.AppendUint64(make([]byte, 0, 8), value)})
		}
		p.seq += int32(len(s.values))
		p.flying = append(p.flying, s)
		w.oracle.sends(p, s)
	}
	p.send()
}

// rest is the pause after a burst.
func (p *producer) rest() int64 { return within(p.random, 0, 5*p.think*int64(p.burst)/2) }

func (p *producer) askID() {
	w := p.load.world
	home := p.site.serving()
	if home == nil {
		p.after(within(p.random, 100*ms, sec), p.work)
		return
	}
	p.try++
	try := p.try
	home.producerID(func(id int64) {
		w.after(p.hop(), func() {
			if p.try == try && id >= 0 {
				p.pid, p.epoch, p.seq = id, 0, 0
				p.work()
			}
		})
	})
	p.after(2*sec, func() {
		if p.try == try && p.pid < 0 {
			p.work()
		}
	})
}

// hop is the way between a client and a broker of its site.
func (p *producer) hop() int64 { return within(p.random, 30*us, 400*us) }

// send tries what is in flight once.
func (p *producer) send() {
	w := p.load.world
	if len(p.flying) == 0 {
		return
	}
	p.try++
	try := p.try
	if w.now-p.flying[0].since > p.patience {
		p.giveUp("its time is over")
		return
	}
	home := p.site.serving()
	if home == nil {
		p.again(try, within(p.random, 50*ms, 500*ms))
		return
	}
	asked := pick(p.random, home.brokers) // whose metadata the client believes
	leader := home.broker(asked.feed.image.Leader(p.id))
	if !asked.running || leader == nil || !leader.running {
		p.again(try, within(p.random, 20*ms, 200*ms))
		return
	}
	list := slices.Clone(p.flying)
	batches := make([]batch.Batch, len(list))
	for i, s := range list {
		header := batch.Batch{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, LeaderEpoch: -1}
		if p.idempotent {
			header.ProducerID, header.ProducerEpoch, header.BaseSequence = p.pid, p.epoch, s.seq
		}
		batches[i] = batch.Build(header, s.records)
		s.tries++
		s.crc = batches[i].CRC
		if s.last != p.site {
			s.last = p.site
			s.sites++
		}
	}
	p.unsaid = len(list)
	w.after(p.hop(), func() {
		if home.dead {
			return
		}
		for i, s := range list { // one connection: in order
			a := &attempt{home: home, leader: leader, one: s, timeout: p.timeout, acks: p.acks}
			w.oracle.begins(a, p.id)
			w.after(p.timeout+sec, func() { w.oracle.overdue(a, p.id) })
			leader.produce(p.id, batches[i], p.acks, p.timeout, "producer", a.weak, func(r *replica, reply any) {
				w.oracle.answers(a, p.id, reply)
				if ack, ok := reply.(partition.AckProduce); ok {
					w.oracle.acked(r, batches[i], w.oracle.granted(a, r, batches[i], ack.Base), ack.Base)
				}
				w.after(p.hop(), func() {
					if p.try == try {
						p.answered(s, reply)
					}
				})
			})
		}
	})
	// The client waits longer than the server: no answer means that the connection is gone.
	w.after(p.timeout+sec, func() { p.again(try, 0) })
}

func (p *producer) again(try uint64, d int64) {
	p.after(d, func() {
		if p.try == try {
			p.send()
		}
	})
}

func (p *producer) answered(s *sending, reply any) {
	w := p.load.world
	code := perr.None
	p.unsaid--
	switch a := reply.(type) {
	case partition.AckProduce:
		w.oracle.clientAcked(p, s, a.Base)
		p.flying = slices.DeleteFunc(p.flying, func(one *sending) bool { return one == s })
		if len(p.flying) == 0 {
			p.try++
			p.after(p.rest(), p.work)
			return
		}
	case partition.RefuseProduce:
		code = a.Code
	case shell.Failed:
		code = a.Code
	}
	switch {
	case code == perr.InvalidProducerEpoch, code == perr.InvalidProducerIdMapping, code == perr.OutOfOrderSequenceNumber && s == p.flying[0]:
		p.giveUp(code.Name()) // a batch behind one that was refused is out of order too: both are sent again
	case p.unsaid == 0:
		p.again(p.try, within(p.random, 20*ms, 300*ms))
	}
}

// giveUp leaves batches in the dark: they may be in the log or not. An idempotent client goes on in a new
// epoch of its id.
func (p *producer) giveUp(string) {
	p.flying = nil
	p.try++
	if p.idempotent {
		p.epoch, p.seq = p.epoch+1, 0
		if p.epoch > 30000 {
			p.pid = -1
		}
	}
	p.after(p.rest(), p.work)
}

// redirect sends a producer to another cluster, with the id, the sequences and the batches it has.
func (p *producer) redirect(to *site) {
	p.site = to
	if len(p.flying) > 0 {
		for _, s := range p.flying {
			s.since = p.load.world.now
		}
		p.try++
		p.again(p.try, 0)
	} else {
		p.after(0, p.work)
	}
}

// idBlock is what broker.producerIDs keeps: a block of producer ids of the controller.
type idBlock struct{ id, end int64 }

func (p *process) producerID(reply func(int64)) {
	if p.ids.id < p.ids.end {
		p.ids.id++
		reply(p.ids.id - 1)
		return
	}
	p.allocate(0, reply)
}

func (p *process) allocate(above int64, reply func(int64)) {
	p.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.AllocateProducerIDs{Ref: ref, Count: 10, Above: above, Prefix: int32(7000 + p.site.index)}
	}, func(answer any) {
		ids, ok := answer.(controller.ProducerIDs)
		if !ok {
			reply(-1)
			return
		}
		if used := p.highest[int32(ids.First>>32)]; used >= ids.First {
			p.allocate(used, reply)
			return
		}
		p.ids = idBlock{ids.First + 1, ids.First + ids.Count}
		reply(ids.First)
	})
}

// consumer reads one partition of one cluster from its beginning.
type consumer struct {
	load   *workload
	site   *site
	id     core.PartitionID
	random *rand.Rand
	next   core.Offset
	every  int64
}

func (l *workload) addConsumer(s *site, id core.PartitionID) {
	c := &consumer{load: l, site: s, id: id, random: stream(l.world.seed, "consumer/%s/%s", s.id, id)}
	c.every = within(c.random, 50*ms, 800*ms)
	l.consumers = append(l.consumers, c)
	l.world.after(within(c.random, 0, sec), c.poll)
}

func (c *consumer) poll() {
	w := c.load.world
	if c.site.gone || w.oracle.truth(c.id).gone&siteBit(c.site.index) != 0 {
		return
	}
	w.after(within(c.random, c.every/2, c.every), c.poll)
	if home := c.site.serving(); home != nil && home.pausedUntil <= w.now {
		c.read(home)
	}
}

func (c *consumer) read(home *process) {
	asked := pick(c.random, home.brokers)
	leader := home.broker(asked.feed.image.Leader(c.id))
	if leader == nil || !leader.running {
		return
	}
	r, code := leader.leaderHere(c.id)
	if code != perr.None || leader.lost != nil {
		return
	}
	if c.next > r.view.LEO && c.next <= c.load.world.oracle.truth(c.id).goneBelow(c.site.index) {
		return // it is out of range, and what it would read next was deleted: a copy may begin anew below that
	}
	if c.next > r.view.LEO {
		c.load.world.found("I14", "%s: a consumer of %s has read up to %d, and the leader's log ends at %d", c.site.id, c.id, c.next, r.view.LEO)
		return
	}
	for _, b := range r.log.read(c.next, r.view.HW, maxFetchBytes) {
		c.load.world.oracle.consumed(c, b)
		c.next = core.Offset(b.LastOffset()) + 1
	}
}

func values(b batch.Batch) (list []uint64) {
	if b.IsControl() {
		return nil
	}
	if err := b.Each(0, func(r batch.Record) bool {
		list = append(list, binary.BigEndian.Uint64(r.Value))
		return true
	}); err != nil {
		panic(err)
	}
	return list
}

func topicID(n int) core.TopicID { return core.TopicID{1, byte(n + 1), 0x51} }

func partitionsOf(t image.Topic) []core.PartitionID {
	list := make([]core.PartitionID, len(t.Partitions))
	for i := range list {
		list[i] = core.PartitionID{Topic: t.ID, Index: int32(i)}
	}
	return list
}
