package wire

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"sync"
)

// Loss drops whole NATS messages of a connection, in both directions, and leaves the protocol around them intact: TCP
// does not lose, but NATS does, whenever a server restarts or a consumer is slow.
type Loss struct {
	mu      sync.Mutex
	rng     *rand.Rand
	share   float64
	dropped int
}

// NewLoss drops nothing yet.
func NewLoss(seed uint64) *Loss { return &Loss{rng: rand.New(rand.NewPCG(seed, 0x6e617473))} }

// Set drops this share of messages, 0 to 1.
func (l *Loss) Set(share float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.share = share
}

// Dropped is how many messages are gone.
func (l *Loss) Dropped() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

func (l *Loss) drop() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.share == 0 || l.rng.Float64() >= l.share {
		return false
	}
	l.dropped++
	return true
}

// Filter is for Listen.
func (l *Loss) Filter(_ Way, pass func([]byte)) func([]byte) {
	var buffer []byte
	return func(b []byte) {
		buffer = append(buffer, b...)
		for {
			n, message := natsUnit(buffer)
			if n == 0 {
				return
			}
			if !message || !l.drop() {
				pass(bytes.Clone(buffer[:n]))
			}
			buffer = buffer[n:]
		}
	}
}

// natsUnit is the length of the first line, with the payload of a message behind it; 0 while it is not whole.
func natsUnit(b []byte) (n int, message bool) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 0 {
		return 0, false
	}
	n = end + 2
	fields := bytes.Fields(b[:end])
	if len(fields) < 3 {
		return n, false
	}
	switch string(bytes.ToUpper(fields[0])) {
	case "PUB", "HPUB", "MSG", "HMSG":
	default:
		return n, false
	}
	size, err := strconv.Atoi(string(fields[len(fields)-1]))
	if err != nil || size < 0 {
		return n, false
	}
	if n += size + 2; len(b) < n {
		return 0, false
	}
	return n, true
}
