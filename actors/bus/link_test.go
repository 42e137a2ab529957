package bus

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Behind a firewall that drops packets, or on a port of something else, a connect takes as long as it may. Nobody waits for it:
// floors travel in fetches as well.
func TestAServerThatSaysNothingHoldsUpNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := make(chan net.Conn, 1)
	go func() {
		for n := 0; ; n++ {
			c, err := listener.Accept()
			switch {
			case err != nil:
				return
			case n == 0:
				c.Close() // the first attempt fails at once, and the client goes on by itself
			default:
				silent <- c
			}
		}
	}()
	w := newWorld(t)
	dst := w.open("dst", "127.0.0.1:0", time.Second)
	t.Cleanup(dst.Close)
	dst.Source("dr", "src", "")
	l, err := dial("nats://"+listener.Addr().String(), "dr", &dst.count, slog.New(slog.DiscardHandler), func() {}, nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	conn := <-silent // from here on the client connects, for a minute
	t.Cleanup(func() { listener.Close(); conn.Close(); l.close() })
	o := dst.outlet("dr")
	o.mu.Lock()
	o.link = l
	o.mu.Unlock()

	done := make(chan bool)
	go func() {
		defer close(done)
		l.publish(floorsSubject("src", 1), []byte("x"))
		if _, err := l.request(context.Background(), controlSubject("src"), []byte("x")); err == nil {
			t.Error("a server that says nothing has answered")
		}
		for i := range 100 {
			dst.PublishFloor(id(1), floorAt(int64(i+1), 100))
			dst.Placed("dr", id(1), 1, true)
			if o.flush(); o.connected() {
				t.Error("a server that says nothing is connected")
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a floor waits for a server that says nothing")
	}
}

// An operator whose NATS is not where the source says hears of it, once.
func TestANATSThatIsNotReachedIsSaidOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	attempts := make(chan bool)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				close(attempts)
				return
			}
			c.Close()
			attempts <- true
		}
	}()
	var mu sync.Mutex
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(lockedWriter{&mu, &text}, nil))
	l, err := dial("nats://"+listener.Addr().String(), "dr", &counters{}, log, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		<-attempts
	}
	go func() {
		for range attempts { // those that the close overtakes
		}
	}()
	l.close()
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(text.String(), "nats is not reached"); n != 1 || !strings.Contains(text.String(), "link=dr") {
		t.Errorf("%d lines of one outage:\n%s", n, text.String())
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}
