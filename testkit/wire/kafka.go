package wire

import (
	"bytes"
	"encoding/binary"
	"sync"
)

// Frames holds requests of some Kafka api keys back, and passes all others in order: what a slow network does to one
// command. A connection whose request is held passes nothing behind it.
type Frames struct {
	mu   sync.Mutex
	held map[int16]bool
	seen map[int16]int // requests that came, by key
	free chan struct{}
}

// NewFrames holds nothing yet.
func NewFrames() *Frames {
	return &Frames{held: map[int16]bool{}, seen: map[int16]int{}, free: make(chan struct{})}
}

// Hold holds requests of a key, until Release.
func (f *Frames) Hold(key int16) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[key] = true
}

// Release lets everything go.
func (f *Frames) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = map[int16]bool{}
	close(f.free)
	f.free = make(chan struct{})
}

// Seen is how many requests of a key came so far, held ones included.
func (f *Frames) Seen(key int16) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[key]
}

// Filter is for Listen.
func (f *Frames) Filter(way Way, pass func([]byte)) func([]byte) {
	if way == Down {
		return nil
	}
	var buffer []byte
	return func(b []byte) {
		buffer = append(buffer, b...)
		for len(buffer) >= 6 {
			size := 4 + int(binary.BigEndian.Uint32(buffer))
			if len(buffer) < size {
				break
			}
			f.await(int16(binary.BigEndian.Uint16(buffer[4:])))
			pass(bytes.Clone(buffer[:size]))
			buffer = buffer[size:]
		}
	}
}

// await returns when requests of a key may go.
func (f *Frames) await(key int16) {
	f.mu.Lock()
	f.seen[key]++
	for f.held[key] {
		free := f.free
		f.mu.Unlock()
		<-free
		f.mu.Lock()
	}
	f.mu.Unlock()
}
