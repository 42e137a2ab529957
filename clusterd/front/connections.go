package front

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// connections bounds how many clients a broker has and how fast new ones come, as Kafka does: who comes from one
// address too often is closed, and everybody else waits in the listener's queue until there is room.
type connections struct {
	front *Front
	log   *slog.Logger

	mu      sync.Mutex
	read    int64 // the image's SettingsAt when limits was read
	limits  connectionLimits
	open    int
	from    map[netip.Addr]int
	freed   chan struct{} // capacity 1: a connection ended
	due     time.Time     // when the rate admits the next one
	warned  time.Time     // when a refusal was logged last
	refused int64
}

// connectionLimits may change while connections are there. None is closed because of it.
type connectionLimits struct {
	most      int // max.connections
	perIP     int // max.connections.per.ip
	overrides map[netip.Addr]int
	rate      float64 // max.connection.creation.rate, per second
}

// lookAgain is how long a connection that waits for room does not hear of a new max.connections.
const lookAgain = time.Second

// warnEvery is how often refusals are logged, however many there are.
const warnEvery = 10 * time.Second

func newConnections(f *Front) *connections {
	return &connections{front: f, log: f.log, read: -1, from: map[netip.Addr]int{}, freed: make(chan struct{}, 1)}
}

// refresh reads the limits anew when settings of brokers have changed. c.mu is held.
func (c *connections) refresh() {
	at := int64(0)
	if img := c.front.image(); img != nil {
		at = img.SettingsAt
	}
	if at != c.read {
		c.read, c.limits = at, limitsOf(c.front)
	}
}

func limitsOf(f *Front) connectionLimits {
	overrides, err := ParseOverrides(f.brokerWord("max.connections.per.ip.overrides"))
	if err != nil {
		panic("front: " + err.Error()) // whoever starts a process has asked, and so has alterBroker
	}
	l := connectionLimits{
		most:      int(f.brokerNumber("max.connections")),
		perIP:     int(f.brokerNumber("max.connections.per.ip")),
		overrides: overrides,
		rate:      float64(f.brokerNumber("max.connection.creation.rate")),
	}
	if l.rate >= math.MaxInt32 {
		l.rate = 0 // Kafka writes unlimited as the largest number
	}
	return l
}

// ParseOverrides reads max.connections.per.ip.overrides: address:number, separated by commas.
func ParseOverrides(list string) (map[netip.Addr]int, error) {
	overrides := map[netip.Addr]int{}
	for _, item := range strings.Split(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		at := strings.LastIndexByte(item, ':')
		address, err := netip.ParseAddr(strings.Trim(item[:max(at, 0)], "[]"))
		n, bad := strconv.Atoi(item[at+1:])
		if err != nil || bad != nil || n < 0 {
			return nil, fmt.Errorf("max.connections.per.ip.overrides %q: use address:number, as in 10.0.0.7:200, separated by commas; host names are not looked up", item)
		}
		overrides[address.Unmap()] = n
	}
	return overrides, nil
}

// admit waits until the broker may have one more connection, and counts it. False: its address has too many, or stop was
// closed first.
func (c *connections) admit(n net.Conn, stop <-chan struct{}) bool {
	ip := address(n)
	c.mu.Lock()
	c.refresh()
	most := c.limits.perIP
	if own, some := c.limits.overrides[ip]; some {
		most = own
	}
	if c.from[ip] >= most {
		c.refused++
		c.warn("a connection was closed because its address has too many", "client", ip.String(), "max.connections.per.ip", most)
		c.mu.Unlock()
		return false
	}
	for c.open >= c.limits.most {
		c.warn("new connections wait until others end", "max.connections", c.limits.most)
		c.mu.Unlock()
		again := time.NewTimer(lookAgain)
		select {
		case <-c.freed:
		case <-again.C:
		case <-stop:
			again.Stop()
			return false
		}
		again.Stop()
		c.mu.Lock()
		c.refresh()
	}
	c.open++
	c.from[ip]++
	pause := c.pace(time.Now())
	if c.open < c.limits.most {
		c.signal() // two may have ended while one waited
	}
	c.mu.Unlock()
	if pause <= 0 {
		return true
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		c.leave(n)
		return false
	}
}

// pace is how long the newest connection waits for the creation rate. As many as a second allows may come at once.
func (c *connections) pace(now time.Time) time.Duration {
	if c.limits.rate <= 0 {
		return 0
	}
	if earliest := now.Add(-time.Second); c.due.Before(earliest) {
		c.due = earliest
	}
	c.due = c.due.Add(time.Duration(float64(time.Second) / c.limits.rate))
	return c.due.Sub(now)
}

// leave takes back what admit counted.
func (c *connections) leave(n net.Conn) {
	ip := address(n)
	c.mu.Lock()
	c.open--
	if c.from[ip]--; c.from[ip] == 0 {
		delete(c.from, ip)
	}
	c.mu.Unlock()
	c.signal()
}

// signal tells one waiter, if there is one, to look again.
func (c *connections) signal() {
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// warn logs a refusal unless one was logged just now. c.mu is held.
func (c *connections) warn(what string, about ...any) {
	if now := time.Now(); now.Sub(c.warned) >= warnEvery {
		c.warned = now
		c.log.Warn(what, append(about, "open", c.open, "refused", c.refused)...)
	}
}

func address(n net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(n.RemoteAddr().String())
	if err != nil {
		return netip.Addr{} // not TCP: counted together
	}
	return at.Addr().Unmap()
}
