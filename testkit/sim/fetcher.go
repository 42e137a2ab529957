package sim

import (
	"lockstep/actors/bus/facts"
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/messages"
)

// fetcher reads from one broker of one mirror's source: at most one fetch and one divergence check at a time,
// each on a connection of its own. It repeats the loop of actors/fetcher.
type fetcher struct {
	run      *mirrorRun
	broker   core.ReplicaID
	box      *mailbox
	closed   bool
	cursors  map[core.PartitionID]*cursor
	order    []*cursor // all of them, by id
	turnOf   int
	open     [2]bool // data and control connection are made
	flight   *flight
	check    *call
	laggards int64
	pause    int64
	until    int64
	armedFor int64
}

type flight struct {
	asked  map[core.PartitionID]askedFor
	call   *call
	sent   int64
	parks  bool
	kicked bool
}

const (
	shortWait   = 50 * ms
	owedWait    = 10 * ms
	laggardWait = 250 * ms
	watchEvery  = 100 * ms
	asyncWait   = 500 * ms
	fetchWait   = 1 * sec
)

func newFetcher(m *mirrorRun, broker core.ReplicaID) *fetcher {
	f := &fetcher{run: m, broker: broker, box: m.home.newMailbox("fetcher"), cursors: map[core.PartitionID]*cursor{}}
	m.home.boxes = append(m.home.boxes, f.box)
	f.watch()
	return f
}

func (f *fetcher) home() *process { return f.run.home }

func (f *fetcher) close() {
	f.closed = true
	if f.flight != nil {
		f.flight.call.abandon()
	}
	if f.check != nil {
		f.check.abandon()
	}
}

// post runs something on the fetcher's turn, and then whatever has become due.
func (f *fetcher) post(do func()) {
	f.box.post(func() {
		if !f.closed {
			do()
			f.work()
		}
	})
}

// watch starts over where another leader, or one of a new epoch, has taken over at home.
func (f *fetcher) watch() {
	if f.closed {
		return
	}
	f.home().wake(f.home().mono()+watchEvery, func() {
		restarted := false
		for _, c := range f.order {
			if p, ok := f.home().newest.Partition(c.id); ok && (c.phase == fetching || c.phase == appending) && p.LeaderEpoch > c.home {
				c.restart()
				restarted = true
			}
		}
		if restarted {
			f.post(func() {})
		}
		f.watch()
	})
}

func (f *fetcher) assign(partitions map[core.PartitionID]assignment) {
	if f.closed {
		return
	}
	for id := range f.cursors {
		if _, ok := partitions[id]; !ok {
			delete(f.cursors, id)
		}
	}
	kick := false
	for id, a := range partitions {
		c := f.cursors[id]
		if c == nil {
			f.cursors[id] = newCursor(a)
		} else if c.reassign(a) && a.sync {
			kick = true
		}
	}
	f.order = f.order[:0]
	for _, id := range sortedPartitions(f.cursors) {
		f.order = append(f.order, f.cursors[id])
	}
	if kick {
		f.kick()
	}
	f.work()
}

func (f *fetcher) kick() {
	if f.flight != nil && f.flight.parks && !f.flight.kicked {
		f.flight.kicked = true
		f.flight.call.abandon()
		fl := f.flight
		f.post(func() { f.received(fl, nil, errCut) })
	}
}

// work starts what can be started and arms the next look.
func (f *fetcher) work() {
	now := f.home().mono()
	defer f.arm(now)
	if now < f.until {
		return
	}
	if f.check == nil {
		f.startCheck(now)
	}
	if f.flight != nil {
		if f.flight.parks && f.idleReady(now) {
			f.kick()
		}
		return
	}
	if now < f.laggards {
		for _, c := range f.order {
			if c.phase == appending {
				return
			}
		}
	}
	f.startFetch(now)
}

func (f *fetcher) idleReady(now int64) bool {
	for _, c := range f.order {
		if c.phase == fetching && now >= c.until && c.flying == nil {
			if q, ok := f.flight.asked[c.id]; !ok || q.attempt != c.attempt {
				return true
			}
		}
	}
	return false
}

func (f *fetcher) arm(now int64) {
	at := int64(0)
	sooner := func(t int64) {
		if t > now && (at == 0 || t < at) {
			at = t
		}
	}
	sooner(f.until)
	sooner(f.laggards)
	for _, c := range f.order {
		sooner(c.until)
		if c.refusal != 0 {
			sooner(c.probe)
		}
	}
	if at == 0 || f.armedFor != 0 && f.armedFor <= at {
		return
	}
	f.armedFor = at
	f.home().wake(at, func() {
		if f.armedFor == at {
			f.armedFor = 0
		}
		f.post(func() {})
	})
}

func (f *fetcher) startFetch(now int64) {
	var ready []*cursor
	alive := 0
	for _, c := range f.order {
		if c.phase != diverged {
			alive++
		}
		if c.phase == fetching && c.flying == nil && now >= c.until {
			ready = append(ready, c)
		}
	}
	if len(ready) == 0 {
		return
	}
	f.turnOf = (f.turnOf + 1) % len(ready)
	ready = append(ready[f.turnOf:len(ready):len(ready)], ready[:f.turnOf]...)
	fl := &flight{asked: map[core.PartitionID]askedFor{}, sent: now}
	p := f.home()
	req := fetchRequest{key: core.MirrorKey{Cluster: p.site.id, Mirror: f.run.name}, wait: fetchWait}
	if len(ready) < alive {
		req.wait = shortWait
	}
	inBand := !p.outlet(f.run.name).link.nats()
	for _, c := range ready {
		sync := c.readsSync(now)
		if !c.sync {
			req.wait = min(req.wait, asyncWait)
		}
		if c.refusal != 0 {
			req.wait = min(req.wait, max(c.probe-now, 0))
		}
		if sync && inBand && f.owes(c) {
			req.wait = min(req.wait, owedWait)
		}
		fl.asked[c.id] = askedFor{session: c.session, epoch: c.adopted, attempt: c.attempt, offset: c.next, sync: sync, sent: now}
		c.flying = fl
		a := askedPartition{id: c.id, epoch: c.adopted, from: c.next, last: c.last, sync: sync}
		if sync {
			a.floor = f.floor(c)
		}
		req.partitions = append(req.partitions, a)
	}
	fl.parks = req.wait > shortWait
	f.flight = fl
	broker := f.broker
	fl.call = f.run.link.ask(p, !f.open[0], p.site.world.options.DialTimeout, req.wait+requestTimeout, func(source *process, answer func(any)) {
		if b := source.broker(broker); b.running {
			b.fetch(req, answer)
		} else {
			answer(errCut)
		}
	}, func(answer any, err error) { f.post(func() { f.received(fl, answer, err) }) })
	f.open[0] = true
}

func (f *fetcher) owes(c *cursor) bool {
	if c.waiters {
		return true
	}
	r := f.home().leader(c.id)
	return r != nil && r.floor != nil && r.floor.SourceEpoch == c.adopted && r.floor.Floor < c.next
}

// floor is what was published under the adopted source epoch and the present registration; without one the
// registration alone is named (actors/fetcher currentFloor).
func (f *fetcher) floor(c *cursor) messages.ReplicaFloorsPartition {
	p := f.home()
	if known, ok := f.run.statedFloor(c); ok {
		return facts.Floor(c.id, known)
	}
	local, _ := p.newest.Partition(c.id)
	return facts.Floor(c.id, highwater.PublishFloor{Mirror: f.run.name, Epoch: c.epoch, SourceEpoch: c.adopted, SourceIncarnation: c.source, Incarnation: c.incarnation,
		Floor: core.Unknown, ISRSize: int32(len(local.ISR)), MinISR: local.MinISR, DestEpoch: core.NoEpoch})
}
