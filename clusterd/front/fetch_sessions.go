package front

import (
	order "container/list"
	"math/rand/v2"
	"sync"
	"time"

	"lockstep/actors/core/access"
)

// fetchSessions are the sessions of one broker. A client may leave them behind without a word, and some open one with
// every fetch, so they are bounded, and what is left behind makes room first. Whoever finds no room reads without a
// session, which costs it bytes and nothing else (compat-F07).
type fetchSessions struct {
	slots int // max.incremental.fetch.session.cache.slots
	now   func() time.Time

	mu         sync.Mutex
	byID       map[int32]*held
	fresh      order.List // of *held: opened and not yet continued, oldest first
	used       order.List // of *held: continued, least recently used first
	partitions int
	evicted    int64
}

// held is a session as the cache knows it.
type held struct {
	session    *fetchSession
	at         *order.Element
	in         *order.List
	partitions int
	opened     time.Time
	last       time.Time
}

const (
	// sessionPartitions is how many partitions one session may have, and cachePartitions those of a broker together. One
	// takes about 250 bytes.
	sessionPartitions = 20_000
	cachePartitions   = 1 << 17
	// sessionIdle is how long a session that was continued is safe from others, and how long it may go unused after
	// that before it makes room for anybody.
	sessionIdle = 2 * time.Minute
)

func newFetchSessions(slots int) *fetchSessions {
	return &fetchSessions{slots: slots, now: time.Now, byID: map[int32]*held{}}
}

func (c *fetchSessions) find(id int32) *fetchSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.byID[id]; h != nil {
		return h.session
	}
	return nil
}

// open keeps a session and gives it its id; 0 when there is no room for it.
func (c *fetchSessions) open(s *fetchSession) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(s.readings)
	if n > sessionPartitions {
		return 0
	}
	for len(c.byID) >= c.slots || c.partitions+n > cachePartitions {
		if !c.evict(n) {
			return 0
		}
	}
	for s.id == 0 || c.byID[s.id] != nil {
		s.id = rand.Int32()
	}
	now := c.now()
	h := &held{session: s, in: &c.fresh, partitions: n, opened: now, last: now}
	h.at = c.fresh.PushBack(h)
	c.byID[s.id] = h
	c.partitions += n
	return s.id
}

// evict makes room for a session of n partitions: first goes one that has been idle for long, then the oldest that was
// opened and never continued, then the smallest of those that are smaller and no longer young.
func (c *fetchSessions) evict(n int) bool {
	now := c.now()
	var out *held
	if oldest := c.used.Front(); oldest != nil && now.Sub(oldest.Value.(*held).last) > sessionIdle {
		out = oldest.Value.(*held)
	} else if left := c.fresh.Front(); left != nil {
		out = left.Value.(*held)
	} else {
		for e := c.used.Front(); e != nil; e = e.Next() {
			h := e.Value.(*held)
			if h.partitions < n && now.Sub(h.opened) > sessionIdle && (out == nil || h.partitions < out.partitions) {
				out = h
			}
		}
	}
	if out == nil {
		return false
	}
	c.remove(out)
	c.evicted++
	return true
}

// use notes that a session was continued and how many partitions it has now; false: it is gone, or there is no room for
// them.
func (c *fetchSessions) use(s *fetchSession, partitions int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.byID[s.id]
	if h == nil || h.session != s {
		return false
	}
	if partitions > h.partitions && (partitions > sessionPartitions || c.partitions+partitions-h.partitions > cachePartitions) {
		return false
	}
	c.partitions += partitions - h.partitions
	h.partitions, h.last = partitions, c.now()
	h.in.Remove(h.at)
	h.in = &c.used
	h.at = c.used.PushBack(h)
	return true
}

// endOf is end for a client, which may name anybody's session.
func (c *fetchSessions) endOf(id int32, owner access.Principal) {
	if s := c.find(id); s != nil && s.owner == owner {
		c.end(id)
	}
}

// end forgets a session, if there is one of the id.
func (c *fetchSessions) end(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.byID[id]; h != nil {
		c.remove(h)
	}
}

func (c *fetchSessions) remove(h *held) {
	h.in.Remove(h.at)
	delete(c.byID, h.session.id)
	c.partitions -= h.partitions
}

// SessionCounts are the fetch sessions of a broker: those there are, their partitions, and those that made room for
// others since the listener was made.
type SessionCounts struct{ Sessions, Partitions, Evicted int64 }

func (c *fetchSessions) counts() SessionCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return SessionCounts{int64(len(c.byID)), int64(c.partitions), c.evicted}
}
