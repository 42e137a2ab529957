package log

import (
	"crypto/sha256"
	"sync"
	"unsafe"
)

// digests remembers the digest of large payloads, so that the volumes of a process, which get the
// very same bytes at the same time, hash a batch once (D11). Payloads are known by address. That is
// sound because nobody mutates or reuses bytes given to a journal, and because the cache holds the
// bytes: while an address is remembered, the collector cannot give it to another batch.
var digests = digestCache{known: map[digestKey]*digest{}}

const (
	digestMin   = 2 << 10  // below this, hashing is cheaper than looking
	digestBytes = 32 << 20 // most payload bytes the cache keeps alive
)

type digestKey struct {
	at *byte
	n  int
}

type digest struct {
	payload []byte
	done    chan struct{} // closed when hash is set
	hash    Hash
}

type digestCache struct {
	mu    sync.Mutex
	known map[digestKey]*digest
	order []*digest // oldest first
	bytes int
}

// claim returns the digest's entry and whether the caller must compute it.
func (c *digestCache) claim(payload []byte) (d *digest, mine bool) {
	key := digestKey{unsafe.SliceData(payload), len(payload)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.known[key]; d != nil {
		return d, false
	}
	d = &digest{payload: payload, done: make(chan struct{})}
	c.known[key] = d
	c.order = append(c.order, d)
	for c.bytes += len(payload); c.bytes > digestBytes && len(c.order) > 1; {
		oldest := c.order[0]
		c.order[0] = nil
		c.order = c.order[1:]
		c.bytes -= len(oldest.payload)
		delete(c.known, digestKey{unsafe.SliceData(oldest.payload), len(oldest.payload)})
	}
	return d, true
}

// ahead computes the digest if nobody has or is about to.
func (c *digestCache) ahead(payload []byte) {
	if len(payload) < digestMin {
		return
	}
	if d, mine := c.claim(payload); mine {
		d.compute()
	}
}

// of computes the digest, or waits for whoever does.
func (c *digestCache) of(payload []byte) Hash {
	if len(payload) < digestMin {
		return sha256.Sum256(payload)
	}
	d, mine := c.claim(payload)
	if mine {
		d.compute()
	} else {
		<-d.done
	}
	return d.hash
}

func (d *digest) compute() {
	d.hash = sha256.Sum256(d.payload)
	close(d.done)
}

// hasher computes digests while the writer waits for the disk. It and the writers of all volumes share
// the work: whoever comes to a payload first does it.
type hasher struct {
	mu      sync.Mutex
	wake    *sync.Cond
	queue   [][]byte
	closing bool
}

func (h *hasher) add(records []Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range records {
		if p := records[i].Entry.Payload; len(p) >= digestMin {
			h.queue = append(h.queue, p)
		}
	}
	if len(h.queue) > 0 {
		h.wake.Signal()
	}
}

func (h *hasher) run() {
	for {
		h.mu.Lock()
		for len(h.queue) == 0 && !h.closing {
			h.wake.Wait()
		}
		todo, closing := h.queue, h.closing
		h.queue = nil
		h.mu.Unlock()
		if closing {
			return
		}
		for _, p := range todo {
			digests.ahead(p)
		}
	}
}

func (h *hasher) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing = true
	h.wake.Signal()
}
