package log

import (
	"crypto/sha256"
	"sync"
	"unsafe"
)

// digests remembers the digest of large payloads, so that the volumes of a process, which get the
// very same bytes, hash a batch once (D11). Payloads are known by address. That is sound because
// nobody mutates or reuses bytes given to a journal, and because the cache holds the bytes: while an
// address is remembered, the collector cannot give it to another batch.
var digests = digestCache{known: map[digestKey]Hash{}}

const (
	digestMin   = 2 << 10  // below this, hashing is cheaper than looking
	digestBytes = 16 << 20 // most payload bytes the cache keeps alive
)

type digestKey struct {
	at *byte
	n  int
}

type digestCache struct {
	mu    sync.Mutex
	known map[digestKey]Hash
	order [][]byte // oldest first; what keeps the payloads alive
	bytes int
}

func (c *digestCache) of(payload []byte) Hash {
	if len(payload) < digestMin {
		return sha256.Sum256(payload)
	}
	key := digestKey{unsafe.SliceData(payload), len(payload)}
	c.mu.Lock()
	h, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return h
	}
	h = sha256.Sum256(payload)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[key]; ok {
		return h
	}
	c.known[key] = h
	c.order = append(c.order, payload)
	for c.bytes += len(payload); c.bytes > digestBytes; {
		oldest := c.order[0]
		c.order[0] = nil
		c.order = c.order[1:]
		c.bytes -= len(oldest)
		delete(c.known, digestKey{unsafe.SliceData(oldest), len(oldest)})
	}
	return h
}
