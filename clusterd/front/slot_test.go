package front

import (
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// pipeline is a connection whose requests are slots that the test completes as it likes.
func pipeline(t *testing.T, limits Limits) (*conn, net.Conn) {
	t.Helper()
	f, addr, _ := bareFront(t, limits)
	client := dial(t, addr)
	var c *conn
	waitFor(t, "the connection", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for c = range f.conns {
		}
		return c != nil
	})
	return c, client
}

func (c *conn) slot(correlation int32) *pending {
	p := &pending{Slot: NewSlot(), correlation: correlation}
	c.flight.Add(1)
	c.window <- p
	return p
}

// TestRepliesLeaveInRequestOrder however the slots are completed.
func TestRepliesLeaveInRequestOrder(t *testing.T) {
	c, client := pipeline(t, DefaultLimits())
	var slots []*pending
	for i := range int32(20) {
		slots = append(slots, c.slot(i))
	}
	for i := len(slots) - 1; i >= 0; i-- {
		if i%5 == 3 {
			slots[i].Silent() // acks=0: no answer, and no place taken (compat-P09)
			continue
		}
		slots[i].Reply(kmsg.NewPtrHeartbeatResponse())
	}
	for i := range int32(20) {
		if i%5 == 3 {
			continue
		}
		if got, _ := readResponse(t, client); got != i {
			t.Fatalf("answer %d came in the place of %d", got, i)
		}
	}
}

// TestATurnMayFindNothingYet: a render function that is not done runs again when told to look.
func TestATurnMayFindNothingYet(t *testing.T) {
	c, client := pipeline(t, DefaultLimits())
	p := c.slot(1)
	looks := make(chan int, 10)
	n := 0
	p.Turn(func() (kmsg.Response, bool) {
		n++
		looks <- n
		return kmsg.NewPtrHeartbeatResponse(), n == 3
	})
	for i := 1; i <= 3; i++ {
		if got := <-looks; got != i {
			t.Fatalf("look %d came as %d", i, got)
		}
		p.Look()
	}
	if got, _ := readResponse(t, client); got != 1 {
		t.Fatalf("answer %d", got)
	}
}

// TestHangUpAnswersWhatCameBefore: the connection ends at the failed request, not before it.
func TestHangUpAnswersWhatCameBefore(t *testing.T) {
	c, client := pipeline(t, DefaultLimits())
	first, second, third := c.slot(1), c.slot(2), c.slot(3)
	third.Reply(kmsg.NewPtrHeartbeatResponse())
	second.HangUp()
	first.Reply(kmsg.NewPtrHeartbeatResponse())
	if got, _ := readResponse(t, client); got != 1 {
		t.Fatalf("answer %d", got)
	}
	if n, err := client.Read(make([]byte, 1)); err == nil {
		t.Fatalf("%d bytes after the hang-up", n)
	}
}

// TestACloseUndoesEverySlot that was not answered, exactly once, wherever it stands.
func TestACloseUndoesEverySlot(t *testing.T) {
	c, client := pipeline(t, DefaultLimits())
	undone := make(chan int32, 10)
	for i := range int32(5) {
		p := c.slot(i)
		p.OnClose(func() { undone <- i })
		if i == 0 {
			p.Reply(kmsg.NewPtrHeartbeatResponse())
		}
	}
	readResponse(t, client)
	client.Close()
	c.front.Close()
	close(undone)
	seen := map[int32]int{}
	for i := range undone {
		seen[i]++
	}
	if len(seen) != 4 || seen[0] != 0 {
		t.Errorf("undone %v, want 1 to 4 once each", seen)
	}
	if n := c.flight.Load(); n != 0 {
		t.Errorf("%d requests are still counted", n)
	}
}

// TestMemoryStopsAndResumes: what does not fit waits, what is too large alone is let in alone.
func TestMemoryStopsAndResumes(t *testing.T) {
	m := NewMemory(100)
	never := make(chan struct{})
	if !m.Take(250, never) {
		t.Fatal("a request above the limit must be let in when nothing else is held")
	}
	took := make(chan bool)
	go func() { took <- m.Take(60, never) }()
	select {
	case <-took:
		t.Fatal("60 bytes were let in beside 250 of 100")
	case <-time.After(20 * time.Millisecond):
	}
	m.Force(10) // what frees others never waits
	m.Give(250)
	if !<-took || m.Held() != 70 {
		t.Fatalf("held %d, want 70", m.Held())
	}
	stop := make(chan struct{})
	go func() { took <- m.Take(60, stop) }()
	close(stop)
	if <-took {
		t.Fatal("taken after stop")
	}
}
