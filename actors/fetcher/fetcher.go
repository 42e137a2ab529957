package fetcher

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
)

// fetcher reads from one broker of one mirror's source. Its loop owns every cursor; requests run on
// goroutines of their own, at most one fetch and one divergence check at a time, and report back through
// the inbox. Two connections: a parked fetch must not hold up a check.
type fetcher struct {
	mirror *mirrorRun
	broker core.ReplicaID
	addr   string
	log    *slog.Logger

	inbox   *inbox
	cursors map[core.PartitionID]*cursor
	turn    int // where the next fetch begins, so that the size limit of an answer starves nobody

	data, control line
	flight        *flight   // the fetch that is out
	checking      bool      // a divergence check is out
	laggards      time.Time // until when the next fetch waits for appends of the last answer
	watched       time.Time // when home was looked at last
	pause         backoff
	until         time.Time // the broker did not answer: not before
	running       sync.WaitGroup
	stop          context.CancelFunc
	done          chan struct{}
}

// flight is one fetch on its way.
type flight struct {
	asked  map[core.PartitionID]asked
	cancel context.CancelFunc
	sent   int64 // mono ns of the actors' clock
	parks  bool  // it may wait at the source for longer than shortWait
	kicked bool  // we ended it
}

const (
	// shortWait is how long a fetch may park while a cursor is missing from it, is refused, or owes a
	// floor that only this fetch can carry.
	shortWait = 50 * time.Millisecond
	owedWait  = 10 * time.Millisecond
	// laggardWait is how long the next fetch waits for appends of the last answer. Beyond it the fetch
	// goes without them, so that one sick volume does not hold up the other partitions.
	laggardWait = 250 * time.Millisecond
	// watchEvery is how often an idle loop looks for a new leader at home.
	watchEvery = 100 * time.Millisecond
)

// Messages of the inbox.
type (
	assign struct {
		partitions map[core.PartitionID]assignment
	}
	fetched struct {
		flight *flight
		resp   *messages.FetchResponse
		err    error
	}
	checked struct {
		asked   []question
		results []check
		err     error
	}
	answered struct {
		id      core.PartitionID
		attempt uint64
		reply   any
	}
	raised struct {
		id      core.PartitionID
		attempt uint64
		ok      bool
	}
)

func startFetcher(m *mirrorRun, broker core.ReplicaID, addr string) *fetcher {
	ctx, stop := context.WithCancel(m.ctx)
	f := &fetcher{mirror: m, broker: broker, addr: addr, stop: stop, done: make(chan struct{}),
		log:   m.log.With("source_broker", broker),
		inbox: newInbox(), cursors: map[core.PartitionID]*cursor{}}
	go f.run(ctx)
	return f
}

// close ends the loop and waits for it and for its requests.
func (f *fetcher) close() {
	f.stop()
	<-f.done
}

func (f *fetcher) run(ctx context.Context) {
	defer close(f.done)
	defer func() {
		f.running.Wait()
		f.data.close()
		f.control.close()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.inbox.ready:
		case <-timer.C:
		}
		now := time.Now()
		for _, m := range f.inbox.take() {
			f.receive(m, now)
		}
		if now.Sub(f.watched) >= watchEvery {
			f.watched = now
			f.watchHome()
		}
		f.work(ctx, now)
		timer.Reset(f.nap(now))
	}
}

func (f *fetcher) receive(m any, now time.Time) {
	switch m := m.(type) {
	case assign:
		f.assign(m.partitions)
	case fetched:
		f.receiveFetch(m, now)
	case checked:
		f.receiveCheck(m, now)
	case answered:
		f.receiveAnswer(m, now)
	case raised:
		if c, ok := f.cursors[m.id]; ok && c.attempt == m.attempt && c.phase == raising {
			// Done or not, the check tells: a leader epoch that is still too low asks again.
			c.retryAlignment(now, localPace)
		}
	default:
		panic("fetcher: unknown message")
	}
}

// assign replaces the partitions this fetcher reads.
func (f *fetcher) assign(partitions map[core.PartitionID]assignment) {
	for id := range f.cursors {
		if _, ok := partitions[id]; !ok {
			delete(f.cursors, id)
		}
	}
	kick := false
	for id, a := range partitions {
		c, ok := f.cursors[id]
		if !ok {
			f.cursors[id] = newCursor(a)
			continue
		}
		// A consumer-style fetch parks at the source's HW; once the source gates, HW waits for our
		// floors and floors for the records above HW. So the mode changes at once (model G7).
		if c.reassign(a) && a.Sync && syncModeAtOnce {
			kick = true
		}
	}
	if kick {
		f.kick()
	}
}

// kick abandons a parked fetch, and its connection with it: an answer nobody asked for any more would
// come before the next one.
func (f *fetcher) kick() {
	if f.flight != nil && f.flight.parks && !f.flight.kicked {
		f.flight.kicked = true
		f.flight.cancel()
	}
}

// watchHome starts over where another leader, or a leader of a new epoch, has taken over at home: it has
// adopted nothing yet, and without this an idle partition would publish no floor until data arrives.
func (f *fetcher) watchHome() {
	for id, c := range f.cursors {
		if c.phase != fetching && c.phase != appending {
			continue
		}
		if p, ok := f.mirror.home().Partition(id); ok && p.LeaderEpoch > c.home {
			c.restart()
		}
	}
}

// work starts what can be started.
func (f *fetcher) work(ctx context.Context, now time.Time) {
	if now.Before(f.until) {
		return
	}
	if !f.checking {
		if list := f.dueChecks(now); len(list) > 0 {
			f.checking = true
			m, addr := f.mirror, f.addr
			f.running.Go(func() {
				results, err := f.control.check(ctx, m, addr, list)
				f.inbox.put(checked{list, results, err})
			})
		}
	}
	if f.flight != nil {
		if f.flight.parks && f.idleReady(now) {
			f.kick()
		}
		return
	}
	if f.waitsForAppends(now) {
		return
	}
	req, fl := f.buildFetch(now)
	if fl == nil {
		return
	}
	wait := time.Duration(req.MaxWaitMs) * time.Millisecond
	reqCtx, cancel := context.WithTimeout(ctx, wait+f.mirror.config.RequestTimeout)
	fl.cancel = cancel
	f.flight = fl
	m, addr := f.mirror, f.addr
	f.running.Go(func() {
		defer cancel()
		resp, err := f.data.fetch(reqCtx, m, addr, req)
		f.inbox.put(fetched{fl, resp, err})
	})
}

// idleReady reports whether a cursor that could be read is not part of the fetch that is parked.
func (f *fetcher) idleReady(now time.Time) bool {
	for id, c := range f.cursors {
		if c.phase == fetching && !now.Before(c.until) && c.flying == 0 {
			if _, ok := f.flight.asked[id]; !ok || f.flight.asked[id].attempt != c.attempt {
				return true
			}
		}
	}
	return false
}

func (f *fetcher) waitsForAppends(now time.Time) bool {
	if !now.Before(f.laggards) {
		return false
	}
	for _, c := range f.cursors {
		if c.phase == appending {
			return true
		}
	}
	return false
}

// nap is how long the loop may sleep.
func (f *fetcher) nap(now time.Time) time.Duration {
	at := now.Add(watchEvery)
	sooner := func(t time.Time) {
		if t.After(now) && t.Before(at) {
			at = t
		}
	}
	sooner(f.until)
	sooner(f.laggards)
	for _, c := range f.cursors {
		sooner(c.until)
		sooner(c.refuse.probe)
	}
	return at.Sub(now)
}

// unreachable pauses the whole fetcher after its broker did not answer.
func (f *fetcher) unreachable(now time.Time, err error) {
	d := f.pause.next(f.mirror.all.connect)
	f.until = now.Add(d)
	f.log.Debug("source broker does not answer", "error", err, "retry_in", d)
	f.mirror.refresh()
}

// line is one connection to the fetcher's broker, dialled when it is needed. It is used by one request
// at a time; close may come from the loop while none is running.
type line struct {
	mu   sync.Mutex
	conn *conn
}

func (l *line) open(ctx context.Context, m *mirrorRun, addr string) (*conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		return l.conn, nil
	}
	conn, err := m.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	l.conn = conn
	return conn, nil
}

func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.close()
		l.conn = nil
	}
}
