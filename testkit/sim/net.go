package sim

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
)

// network is everything between sites: Kafka connections, and NATS datagrams to the source's server.
type network struct {
	world *world
	links map[[2]int]*link // by (destination, source)
}

// link is the way between two sites. Kafka traffic on it is a set of connections with one request at a time
// each, as the shipped fetchers and callers use them; NATS traffic is datagrams.
type link struct {
	world    *world
	from, to *site // from calls, to answers
	random   *rand.Rand
	rtt      int64
	hole     [2]int64 // until when requests (0) and answers (1) are swallowed: held back, not lost
	cutUntil int64    // until then no connection can be made
	natsDown int64    // until then the destination has no link to the source's NATS
	natsLife int      // of the source process that the NATS connection was made to
	calls    map[uint64]*call
	next     uint64
	loss     float64 // of datagrams
	twice    float64
	late     float64
}

var (
	errCut     = errors.New("connection reset")
	errRefused = errors.New("connection refused")
	errTimeout = errors.New("request timed out")
	errDial    = errors.New("dial timed out")
)

func newNetwork(w *world) *network { return &network{world: w, links: map[[2]int]*link{}} }

func (n *network) connect(from, to *site, rtt int64) *link {
	l := &link{world: n.world, from: from, to: to, rtt: rtt, calls: map[uint64]*call{}, random: stream(n.world.seed, "net/%s->%s", from.id, to.id)}
	n.links[[2]int{from.index, to.index}] = l
	return l
}

func (n *network) link(from, to *site) *link { return n.links[[2]int{from.index, to.index}] }

func (l *link) delay() int64 {
	d := l.rtt / 2
	d += within(l.random, 0, d/4+20*us)
	if l.random.IntN(100) == 0 {
		d += within(l.random, 0, 3*d+5*ms) // a retransmission
	}
	return d
}

// call is one request on one connection.
type call struct {
	link    *link
	id      uint64
	client  *process
	server  *process // nil until it was delivered
	over    bool
	dropped bool // never delivered from here on
	sent    bool // it left, so it may have been delivered
	done    func(answer any, err error)
}

// ask sends a request over a connection; fresh says that the connection has to be made first. handle runs at
// the source once the request is there, unless its process is gone; it answers at most once. done runs at the
// caller's, exactly once unless the call is abandoned or its process dies.
func (l *link) ask(client *process, fresh bool, dial, timeout int64, handle func(server *process, answer func(any)), done func(answer any, err error)) *call {
	l.next++
	c := &call{link: l, id: l.next, client: client, done: done}
	l.calls[c.id] = c
	w := l.world
	setup := int64(0)
	if fresh {
		setup = l.delay() + l.delay()
	}
	switch {
	case fresh && (l.to.gone || l.blind()):
		w.after(dial, func() { c.finish(nil, errDial) })
		return c
	case fresh && (l.cutUntil > w.now || l.to.serving() == nil):
		w.after(setup, func() { c.finish(nil, errRefused) })
		return c
	}
	c.sent = true
	l.carry(0, setup+l.delay(), func() { c.deliver(handle) }, func() bool { return c.dropped })
	w.after(setup+timeout, func() { c.finish(nil, errTimeout) })
	return c
}

// blind reports whether a handshake gets nowhere.
func (l *link) blind() bool { return l.hole[0] > l.world.now || l.hole[1] > l.world.now }

// carry moves one message. What meets a black hole is held by its sender until the hole closes, as TCP
// does; lost says that nobody sends it any more.
func (l *link) carry(direction int, d int64, arrive func(), lost func() bool) {
	l.world.after(d, func() {
		switch {
		case lost():
		case l.hole[direction] > l.world.now:
			l.carry(direction, l.hole[direction]-l.world.now+l.delay(), arrive, lost)
		default:
			arrive()
		}
	})
}

func (c *call) deliver(handle func(*process, func(any))) {
	server := c.link.to.serving()
	switch {
	case c.dropped || c.link.to.gone:
		return
	case server == nil:
		c.fail(errCut)
		return
	case server.pausedUntil > c.link.world.now:
		c.link.world.after(server.pausedUntil-c.link.world.now+within(c.link.random, 0, 100*us), func() { c.deliver(handle) })
		return
	}
	c.server = server
	handle(server, func(answer any) {
		if server.dead || c.over {
			return
		}
		err, broken := answer.(error) // nobody listens at that broker
		if broken {
			answer = nil
		}
		c.link.carry(1, c.link.delay(), func() { c.finish(answer, err) }, func() bool { return c.over })
	})
}

// fail breaks the connection: the client hears of it.
func (c *call) fail(err error) {
	c.link.world.after(c.link.delay(), func() { c.finish(nil, err) })
}

func (c *call) finish(answer any, err error) {
	if c.over {
		return
	}
	c.over = true
	if err != nil {
		c.dropped = true // the connection is gone, and what the kernel still held with it
	}
	delete(c.link.calls, c.id)
	if !c.client.dead {
		c.done(answer, err)
	}
}

// abandon closes the connection: nobody waits for the answer. A request that is still held by this side's
// kernel is never delivered.
func (c *call) abandon() {
	if c.over {
		return
	}
	c.over, c.dropped = true, c.link.hole[0] > c.link.world.now
	delete(c.link.calls, c.id)
}

// cut breaks every connection of the link now and lets none be made for a while.
func (l *link) cut(until int64) {
	l.cutUntil = max(l.cutUntil, until)
	l.natsDown = max(l.natsDown, until+within(l.random, 0, 2*sec))
	for _, id := range sortedKeys(l.calls) {
		c := l.calls[id]
		if c.server == nil && l.random.IntN(2) == 0 {
			c.dropped = true
		}
		c.fail(errCut)
	}
}

// processDied resets the connections to and from a process: its kernel says so.
func (n *network) processDied(s *site) {
	for _, key := range sortedLinks(n.links) {
		l := n.links[key]
		for _, id := range sortedKeys(l.calls) {
			c := l.calls[id]
			switch {
			case l.from == s:
				delete(l.calls, id)
				c.over = true
			case l.to == s && !l.blind():
				c.fail(errCut)
			}
		}
		if l.to == s {
			l.natsDown = max(l.natsDown, n.world.now+within(l.random, 0, 2*sec))
		}
	}
}

// nats reports whether the destination's client is connected to the source's server. A black hole is noticed
// by pings, two seconds later.
func (l *link) nats() bool {
	return l.natsDown <= l.world.now && l.cutUntil <= l.world.now && l.to.serving() != nil && !l.to.gone
}

// datagram carries one message of NATS: lost, doubled and reordered as this seed has it.
func (l *link) datagram(toSource bool, arrive func(*process)) {
	w := l.world
	if !l.nats() {
		return
	}
	direction, target := 0, l.to
	if !toSource {
		direction, target = 1, l.from
	}
	copies := 1
	if chance(l.random, l.twice) {
		copies = 2
	}
	for range copies {
		if chance(l.random, l.loss) || l.hole[direction] > w.now {
			continue
		}
		d := l.delay()
		if chance(l.random, l.late) {
			d += within(l.random, 0, 10*sec)
		}
		life := target.lives
		w.after(d, func() {
			if p := target.serving(); p != nil && target.lives == life {
				arrive(p)
			}
		})
	}
}

func sortedLinks(m map[[2]int]*link) [][2]int {
	list := make([][2]int, 0, len(m))
	for key := range m {
		list = append(list, key)
	}
	slices.SortFunc(list, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return list
}
