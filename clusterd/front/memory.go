package front

import (
	"sync"

	"lockstep/protocol"
	"lockstep/protocol/messages"
)

// Memory bounds the bytes of requests that were read and not yet answered, and those of records that are answered and not
// yet taken. One Memory is shared by all listeners of a process (D26: 512 MiB); each connection has one of its own (64 MiB).
type Memory struct {
	limit   int64
	asks    *Memory // what large requests other than produces grow to; nil in itself
	large   *Memory // what is charged for large produces before they are read; nil in itself
	answers *Memory // records on their way to consumers; nil in itself

	mu    sync.Mutex
	held  int64
	freed chan struct{} // closed and replaced at every release that somebody waits for
}

// NewMemory makes a budget of limit bytes.
func NewMemory(limit int64) *Memory {
	return &Memory{limit: limit, freed: make(chan struct{}),
		asks:    &Memory{limit: asksBytes, freed: make(chan struct{})},
		large:   &Memory{limit: limit / 2, freed: make(chan struct{})},
		answers: &Memory{limit: answersBytes, freed: make(chan struct{})}}
}

// growth is what a byte of a request may take once it is decoded; what is asked again is answered once. The records of a
// produce alias its frame.
const growth = protocol.Growth

// asksBytes bounds what the large requests of a process may grow to together: two of the largest.
const asksBytes = 192 << 20

// answersBytes bounds the records that a process holds for consumers which have yet to take them, in bytes. Nobody waits for
// it: answers are smaller while others hold much.
const answersBytes = 256 << 20

const (
	// leastAnswer is how many bytes of records a fetch may be answered with however much others hold.
	leastAnswer = 256 << 10
	// answerCopies is how often the records of an answer are held at most: as read, and as they are written.
	answerCopies = 2
)

// smallNames is how many bytes of topics and partitions a produce may name without waiting for those of others.
const smallNames = 64 << 10

// smallProduce is the size, in bytes, up to which a produce is read before it is charged to the process: a connection
// has one such frame at a time.
const smallProduce = 1 << 20

// smallAsk is the size, in bytes, up to which a request does not wait for those of other connections.
const smallAsk = 4 << 10

// spread is what a request of size bytes is charged, in bytes.
func spread(key int16, size int) int64 {
	if key == messages.KeyProduce {
		return int64(size)
	}
	return growth * int64(size)
}

// neverWaits says that a request must not queue behind other connections' requests: it is what releases produces
// (a mirror's fetch, its registration), or its answer waits for further requests of its kind (a group's round), so that
// waiting would be a deadlock. Its size alone bounds it.
func neverWaits(key int16) bool {
	switch key {
	case messages.KeyProduce, messages.KeyFetch, messages.KeyJoinGroup, messages.KeySyncGroup, messages.KeyOffsetCommit, messages.KeyTxnOffsetCommit, messages.KeyEndTxn,
		messages.KeyRegisterMirrorSyncTopic, messages.KeyUnregisterMirrorSyncTopic:
		return true
	default:
		return false
	}
}

// Take waits until n bytes fit and takes them; false if stop was closed first. A request that is larger
// than the whole budget is let in when nothing else is held, else it would wait for ever.
func (m *Memory) Take(n int64, stop <-chan struct{}) bool {
	for {
		m.mu.Lock()
		if m.held == 0 || m.held+n <= m.limit {
			m.held += n
			m.mu.Unlock()
			return true
		}
		freed := m.freed
		m.mu.Unlock()
		select {
		case <-freed:
		case <-stop:
			return false
		}
	}
}

// Grant takes n bytes, or less: no more than half of what is left, but least in any case. It does not wait.
func (m *Memory) Grant(n, least int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n = min(n, max((m.limit-m.held)/2, least))
	m.held += n
	return n
}

// Force takes n bytes without waiting. What releases a waiting produce (a mirror's fetch, a
// heartbeat) must never wait behind the produces it would release.
func (m *Memory) Force(n int64) {
	m.mu.Lock()
	m.held += n
	m.mu.Unlock()
}

// Give returns n bytes.
func (m *Memory) Give(n int64) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	m.held -= n
	close(m.freed)
	m.freed = make(chan struct{})
	m.mu.Unlock()
}

// Held is the number of bytes taken now.
func (m *Memory) Held() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}
