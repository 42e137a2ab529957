package front

import (
	"net"
	"testing"

	"lockstep/protocol/messages"
)

// TestRequestsAreChargedWhatTheyGrowTo: four pipelined Metadata requests of 4 MiB, each of two million empty
// names, took a process to 1.4 GB while 16 MiB were charged for them.
func TestRequestsAreChargedWhatTheyGrowTo(t *testing.T) {
	const body = 1 << 20
	f, _, _ := bareFront(t, DefaultLimits())
	line, _ := net.Pipe()
	first, second, third := newConn(f, line, &Listener{}), newConn(f, line, &Listener{}), newConn(f, line, &Listener{})
	ask := func(c *conn, key int16, size int) *pending {
		p := &pending{Slot: NewSlot(), bytes: spread(key, size), process: int64(size)}
		if !c.admit(key, p) {
			t.Fatal("refused on an open connection")
		}
		c.flight.Add(1)
		return p
	}
	a, b := ask(first, messages.KeyDescribeConfigs, body), ask(second, messages.KeyMetadata, body)
	for i, p := range []*pending{a, b} {
		if c := []*conn{first, second}[i]; !c.admitAsk(messages.KeyMetadata, body, p) {
			t.Fatal("refused on an open connection")
		}
	}
	// Neither a second one of the same connection nor one of a third connection fits now: both wait, and go away
	// with their connection.
	late := ask(third, messages.KeyMetadata, body)
	waiting := make(chan bool, 3)
	close(first.done)
	close(third.done)
	go func() {
		waiting <- first.admit(messages.KeyMetadata, &pending{bytes: spread(messages.KeyMetadata, body), process: body})
	}()
	go func() { waiting <- third.admitAsk(messages.KeyMetadata, body, late) }()
	go func() { waiting <- third.admitNames(body, late) }() // of a produce
	for range 3 {
		if <-waiting {
			t.Error("a request went on beside others that fill the bound")
		}
	}
	// What a mirror, a group or a small client needs goes on.
	for key, size := range map[int16]int{messages.KeyFetch: body, messages.KeyJoinGroup: body, messages.KeyHeartbeat: 100, messages.KeyMetadata: smallAsk} {
		if !third.admitAsk(key, size, &pending{}) {
			t.Errorf("api key %d of %d bytes waits", key, size)
		}
	}
	if !third.admitNames(smallNames, &pending{}) {
		t.Error("a produce of few names waits")
	}
	first.release(a)
	second.release(b)
	third.release(late)
	if held := f.memory.Held() + f.memory.asks.Held() + first.memory.Held() + second.memory.Held() + third.memory.Held(); held != 0 {
		t.Errorf("%d bytes are still charged", held)
	}
}
