package wire

import (
	"net"
	"sync"
	"time"
)

// piece is the most that is read at once: small enough for rates and cuts to be exact.
const piece = 16 << 10

// queued is how many pieces may be under way in one direction: 32 MiB, more than any delay needs on loopback.
const queued = 2048

// link is one connection through a wire.
type link struct {
	wire  *Wire
	ends  [2]net.Conn // ends[Up] is where Up leads to
	ended chan struct{}
	once  sync.Once
}

type parcel struct {
	bytes []byte
	at    time.Time
}

func newLink(w *Wire, from, to net.Conn) *link {
	return &link{wire: w, ends: [2]net.Conn{Up: to, Down: from}, ended: make(chan struct{})}
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.ended)
		for _, c := range l.ends {
			c.Close()
		}
	})
}

func (l *link) run() {
	var both sync.WaitGroup
	for _, way := range []Way{Up, Down} {
		parcels := make(chan parcel, queued)
		both.Go(func() { l.read(way, parcels) })
		both.Go(func() { l.write(way, parcels) })
	}
	both.Wait()
	l.close()
	l.wire.mu.Lock()
	delete(l.wire.links, l)
	l.wire.mu.Unlock()
}

// read takes bytes in as they come. The end of a direction ends the connection, behind what is under way.
func (l *link) read(way Way, to chan<- parcel) {
	defer close(to)
	pass := func(b []byte) {
		if len(b) > 0 {
			select {
			case to <- parcel{b, time.Now()}:
			case <-l.ended:
			}
		}
	}
	filter := pass
	if l.wire.filter != nil {
		if f := l.wire.filter(way, pass); f != nil {
			filter = f
		}
	}
	for {
		buf := make([]byte, piece)
		n, err := l.ends[1-way].Read(buf)
		filter(buf[:n])
		if err != nil {
			return
		}
	}
}

// write lets parcels go when it is their time.
func (l *link) write(way Way, from <-chan parcel) {
	defer l.close()
	for p := range from {
		if !l.wait(way, p) {
			return
		}
		n, cut := l.wire.allow(way, len(p.bytes))
		if _, err := l.ends[way].Write(p.bytes[:n]); err != nil {
			return
		}
		if cut {
			l.wire.Cut()
			return
		}
	}
}

// wait returns when the parcel may go; false when the connection ended meanwhile.
func (l *link) wait(way Way, p parcel) bool {
	start := time.Now()
	for {
		f, changed := l.wire.look(way)
		due := p.at.Add(f.delay)
		if f.rate > 0 {
			if slow := start.Add(time.Duration(float64(len(p.bytes)) / float64(f.rate) * float64(time.Second))); slow.After(due) {
				due = slow
			}
		}
		left := time.Until(due)
		if !f.hold && left <= 0 {
			return true
		}
		var later <-chan time.Time
		if !f.hold {
			timer := time.NewTimer(left)
			defer timer.Stop()
			later = timer.C
		}
		select {
		case <-later:
		case <-changed:
		case <-l.ended:
			return false
		}
	}
}
