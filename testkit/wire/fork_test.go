package wire

import (
	"io"
	"net"
	"testing"
	"time"
)

// greets answers every connection with a word.
func greets(t *testing.T, word string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, word)
			c.Close()
		}
	}()
	return l.Addr().String()
}

func TestCallersOfOneAddressGoWhereTheyAreSent(t *testing.T) {
	left, right := greets(t, "left"), greets(t, "right")
	way := make(chan string, 3)
	fork, err := NewFork("127.0.0.1:0", func(net.Conn) (string, bool) {
		to := <-way
		return to, to != ""
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ to, word string }{{left, "left"}, {right, "right"}, {"", ""}} {
		way <- c.to
		conn, err := net.Dial("tcp", fork.Address())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(conn); string(got) != c.word {
			t.Errorf("sent to %q: read %q", c.to, got)
		}
		conn.Close()
	}
	fork.End()
	if c, err := net.Dial("tcp", fork.Address()); err == nil {
		c.Close()
		t.Error("a fork that has ended takes connections")
	}
}
