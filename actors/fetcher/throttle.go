package fetcher

import (
	"sync"
	"time"

	"lockstep/actors/core"
)

// throttle bounds how fast something reads: mirror.replication.throttled.rate, of one broker of this cluster over all
// mirrors, or of one mirror over all brokers. It may be used from any goroutine. The zero rate bounds nothing.
//
// What it holds back is data. Floors and evidence are never muted (F51): a partition that may not read goes on asking,
// for everything but records, of a source that can answer so.
type throttle struct {
	rate int64 // bytes per second

	mu     sync.Mutex
	tokens float64 // bytes that may be read; an answer is charged when it is here, so it may fall below 0
	at     time.Time
}

// burst is for how long a throttle that was not used may read at once.
const burst = time.Second

func newThrottle(rate int64) *throttle {
	if rate <= 0 {
		return nil
	}
	return &throttle{rate: rate, tokens: float64(rate) * burst.Seconds()}
}

// room is how many bytes may be read now; 0: none. A nil throttle has room for everything.
func (t *throttle) room(now time.Time) int64 {
	if t == nil || !throttleReads {
		return 1 << 62
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fill(now)
	return int64(max(t.tokens, 0))
}

// charge counts what an answer brought.
func (t *throttle) charge(n int64, now time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fill(now)
	t.tokens -= float64(n)
}

// opens is how long until there is room again.
func (t *throttle) opens(now time.Time) time.Duration {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fill(now)
	if t.tokens >= 1 {
		return 0
	}
	return time.Duration((1 - t.tokens) / float64(t.rate) * float64(time.Second))
}

func (t *throttle) fill(now time.Time) {
	if !t.at.IsZero() && now.After(t.at) {
		t.tokens = min(t.tokens+now.Sub(t.at).Seconds()*float64(t.rate), float64(t.rate)*burst.Seconds())
	}
	if now.After(t.at) {
		t.at = now
	}
}

// brokerThrottle is the throttle of a broker of this cluster; nil without a rate.
func (f *Fetchers) brokerThrottle(id core.ReplicaID) *throttle {
	if f.options.ThrottledRate <= 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t, ok := f.throttles[id]
	if !ok {
		t = newThrottle(f.options.ThrottledRate)
		f.throttles[id] = t
	}
	return t
}

// throttles are those that a cursor's records are charged to: of the broker that leads at home, and of the mirror.
func (f *fetcher) throttles(c *cursor) [2]*throttle {
	both := [2]*throttle{1: f.mirror.throttle}
	if home, ok := f.mirror.home().Partition(c.ID); ok {
		both[0] = f.mirror.all.brokerThrottle(home.Leader)
	}
	return both
}

// room is how many bytes a cursor may read now, and for how long none if it may not.
func (f *fetcher) room(c *cursor, now time.Time) (bytes int64, closed time.Duration) {
	bytes = 1 << 62
	for _, t := range f.throttles(c) {
		bytes = min(bytes, t.room(now))
		closed = max(closed, t.opens(now))
	}
	if bytes < 1 {
		return 0, max(closed, minThrottleWait)
	}
	return bytes, 0
}

func (f *fetcher) charge(c *cursor, n int64, now time.Time) {
	if n == 0 {
		return
	}
	for _, t := range f.throttles(c) {
		t.charge(n, now)
	}
}

// minThrottleWait keeps a throttled partition from asking without end.
const minThrottleWait = 10 * time.Millisecond
