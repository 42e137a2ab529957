package front

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// withSettings restarts a house under other settings of its brokers.
func (h *house) withSettings(settings map[string]string) {
	h.t.Helper()
	h.stop()
	h.settings = settings
	h.start()
}

// served asks over a connection and reports whether an answer came before it was closed.
func served(t *testing.T, c net.Conn) bool {
	t.Helper()
	sendRequest(t, c, 1, kmsg.NewPtrApiVersionsRequest(), 0)
	size := make([]byte, 4)
	_, err := io.ReadFull(c, size)
	return err == nil
}

// TestOneAddressHasSoManyConnections and no more; an address of its own right has other numbers. compat-S07.
func TestOneAddressHasSoManyConnections(t *testing.T) {
	h := newHouse(t, 1)
	h.withSettings(map[string]string{"max.connections.per.ip": "2", "max.connections.per.ip.overrides": "127.0.0.9:1"})
	first, second := dial(t, h.addrs[0]), dial(t, h.addrs[0])
	if !served(t, first) || !served(t, second) {
		t.Fatal("the connections that are allowed are not served")
	}
	closes(t, h.addrs[0], nil)
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.9")}, Timeout: 5 * time.Second}
	other, err := from.Dial("tcp", h.addrs[0])
	if err != nil {
		t.Skip("this machine has one loopback address: ", err)
	}
	defer other.Close()
	other.SetDeadline(time.Now().Add(5 * time.Second))
	if !served(t, other) {
		t.Error("another address is not served")
	}
	if more, err := from.Dial("tcp", h.addrs[0]); err == nil {
		more.SetDeadline(time.Now().Add(5 * time.Second))
		if n, err := more.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("a second one of an address that may have one stays (%d, %v)", n, err)
		}
		more.Close()
	}
	first.Close()
	waitFor(t, "its place to be free", func() bool {
		h.fronts[0].room.mu.Lock()
		defer h.fronts[0].room.mu.Unlock()
		return h.fronts[0].room.open == 2
	})
	if !served(t, dial(t, h.addrs[0])) {
		t.Error("a place that became free is not given")
	}
}

// TestAFullBrokerLetsClientsWait until another leaves, and closes all the same.
func TestAFullBrokerLetsClientsWait(t *testing.T) {
	h := newHouse(t, 1)
	h.withSettings(map[string]string{"max.connections": "2"})
	a, b := dial(t, h.addrs[0]), dial(t, h.addrs[0])
	if !served(t, a) || !served(t, b) {
		t.Fatal("the connections that are allowed are not served")
	}
	waiting := dial(t, h.addrs[0])
	sendRequest(t, waiting, 7, kmsg.NewPtrApiVersionsRequest(), 0)
	if !served(t, b) {
		t.Fatal("clients that are connected are not served while others wait")
	}
	a.Close()
	if got, _ := readResponse(t, waiting); got != 7 {
		t.Errorf("answer %d", got)
	}
	dial(t, h.addrs[0])
	h.stop() // while somebody waits
}

// TestConnectionsComeAtARate: as many as a second allows may come at once.
func TestConnectionsComeAtARate(t *testing.T) {
	c := &connections{limits: connectionLimits{rate: 10}}
	now := time.Unix(1000, 0)
	for i := range 10 {
		if wait := c.pace(now); wait > 0 {
			t.Fatalf("connection %d waits %s", i, wait)
		}
	}
	for i := range 3 {
		if wait, want := c.pace(now), time.Duration(i+1)*100*time.Millisecond; wait != want {
			t.Errorf("connection %d waits %s, want %s", 10+i, wait, want)
		}
	}
	if wait := c.pace(now.Add(time.Hour)); wait > 0 {
		t.Errorf("after an hour one waits %s", wait)
	}
}

// TestOverridesAreChecked, and say what is wrong.
func TestOverridesAreChecked(t *testing.T) {
	got, err := ParseOverrides(" 10.0.0.7:200, [::1]:3 ,fe80::1:4,")
	if err != nil || len(got) != 3 {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"host:3", "10.0.0.7", "10.0.0.7:x", "10.0.0.7:-1", ":"} {
		if _, err := ParseOverrides(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
