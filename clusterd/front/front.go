// Package front is the Kafka protocol side of a logical broker: one listener, one handler file per api
// key, numbered by it. It decodes, asks the actors, and encodes; it decides nothing that must survive.
package front

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/actors/broker"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
)

// Limits bound what clients can make a listener hold.
type Limits struct {
	Requests   int           // requests in flight per connection
	ConnBytes  int64         // bytes of requests in flight per connection
	Frame      int           // socket.request.max.bytes: the largest produce
	SmallFrame int           // the largest frame of every other api, before protocol judges its body
	Idle       time.Duration // connections.max.idle.ms; negative: for ever
	Stall      time.Duration // how long a peer may take to send a frame, and to take each MiB of an answer
	Login      time.Duration // how long a client may take to show who it is, where the listener asks
}

// DefaultLimits are those of D26.
func DefaultLimits() Limits {
	return Limits{
		Requests:   64,
		ConnBytes:  64 << 20,
		Frame:      100 << 20,
		SmallFrame: 17 << 20,
		Idle:       10 * time.Minute,
		Stall:      time.Minute,
		Login:      30 * time.Second,
	}
}

// ProcessBytes is the bound of the Memory that the listeners of one process share (D26).
const ProcessBytes = 512 << 20

// Config is what a listener serves and within which bounds.
type Config struct {
	Cluster *broker.Cluster
	Broker  *broker.Broker
	Memory  *Memory  // shared by all listeners of the process
	Traffic *Traffic // shared by all listeners of the process; optional
	Limits  Limits
	// Settings are the broker settings the operator gave, by Kafka's names, and lockstep.nats.url.
	Settings map[string]string
	// Access is what the operator gave the authorizer; the zero value is none.
	Access access.Settings
	// Source asks the source cluster of a mirror; nil where this process makes no mirrors.
	Source Source
	Log    *slog.Logger
}

// Front serves Kafka clients for one logical broker. Serve and Close may be called from any goroutine.
type Front struct {
	cluster  *broker.Cluster
	broker   *broker.Broker
	memory   *Memory
	traffic  *Traffic
	open     *atomic.Int64 // connections, as traffic counts them
	limits   Limits
	settings map[string]string
	access   access.Settings
	refused  seldom // clients that did not show who they are
	denials  seldom // of the authorizer
	source   Source
	log      *slog.Logger
	rules    rulesByTopic
	sessions *fetchSessions
	quotas   *quotas
	room     *connections
	maxFetch int           // fetch.max.bytes: the most that one answer carries beyond its first batch
	done     chan struct{} // closed by Close
	asking   asking

	mu     sync.Mutex
	closed bool
	lines  map[net.Listener]bool
	conns  map[*conn]bool
	live   sync.WaitGroup
}

// New makes a front that serves nobody yet.
func New(c Config) *Front {
	open := &atomic.Int64{}
	if c.Traffic != nil {
		open = c.Traffic.connections(c.Broker.ID())
	}
	f := &Front{
		cluster:  c.Cluster,
		broker:   c.Broker,
		memory:   c.Memory,
		traffic:  c.Traffic,
		open:     open,
		limits:   c.Limits,
		settings: c.Settings,
		access:   c.Access,
		source:   c.Source,
		log:      c.Log,
		lines:    map[net.Listener]bool{},
		conns:    map[*conn]bool{},
	}
	f.done = make(chan struct{})
	f.quotas = newQuotas()
	f.room = newConnections(f)
	f.maxFetch = int(f.brokerNumber("fetch.max.bytes"))
	f.sessions = newFetchSessions(int(f.brokerNumber("max.incremental.fetch.session.cache.slots")))
	if c.Traffic != nil {
		c.Traffic.sessions.Store(c.Broker.ID(), f.sessions)
	}
	return f
}

// image is the broker's, nil for a listener without one.
func (f *Front) image() *image.Image {
	if f.broker == nil {
		return nil
	}
	return f.broker.Image()
}

// Serve accepts connections until Close, as at says, and owns the listener from now on. It returns nil after Close.
func (f *Front) Serve(l net.Listener, at Listener) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return l.Close()
	}
	f.lines[l] = true
	at.counts = f.traffic.admitted(&at)
	f.live.Add(1)
	f.mu.Unlock()
	defer f.live.Done()
	for {
		n, err := l.Accept()
		if err == nil {
			if f.room.admit(n, f.done) {
				f.take(n, &at)
			} else {
				n.Close()
			}
			continue
		}
		if f.isClosed() {
			return nil
		}
		var wait net.Error
		if errors.As(err, &wait) && wait.Timeout() || errors.Is(err, net.ErrClosed) {
			return err
		}
		// Out of file descriptors, or a connection that was reset while it queued: both pass.
		f.log.Warn("accepting a connection failed", "listener", l.Addr().String(), "reason", err.Error())
		time.Sleep(50 * time.Millisecond)
	}
}

func (f *Front) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

func (f *Front) take(n net.Conn, at *Listener) {
	c := newConn(f, n, at)
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		n.Close()
		f.room.leave(n)
		return
	}
	f.conns[c] = true
	f.live.Add(1)
	f.mu.Unlock()
	f.open.Add(1)
	go func() {
		defer f.live.Done()
		c.serve()
		f.room.leave(n)
		f.open.Add(-1)
		f.mu.Lock()
		delete(f.conns, c)
		f.mu.Unlock()
	}()
}

// Close ends listeners and connections and returns when every goroutine of the front has ended.
func (f *Front) Close() {
	f.mu.Lock()
	if !f.closed {
		close(f.done)
	}
	f.closed = true
	for l := range f.lines {
		l.Close()
	}
	var closing sync.WaitGroup
	for c := range f.conns {
		closing.Go(c.close) // with TLS it tells the peer, who may not be listening
	}
	f.mu.Unlock()
	closing.Wait()
	f.live.Wait()
}
