package datacenter

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// TestAnAddressIsNotASocket: two processes called from one local address, each another far end, and a call of the one was
// carried over the lane of the other: a fault of its own lane did not reach it.
func TestAnAddressIsNotASocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the table of sockets is Linux's")
	}
	again := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) }); e != nil {
			return e
		}
		return err
	}}
	again.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	sockets := map[string]bool{}
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := again.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		taken, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		again.LocalAddr = c.LocalAddr() // the second call comes from where the first did
		if !opened(os.Getpid(), taken) || opened(1, taken) {
			t.Errorf("a call of ours: ours %v, of process 1 %v", opened(os.Getpid(), taken), opened(1, taken))
		}
		sockets[inode(taken.RemoteAddr(), taken.LocalAddr())] = true
	}
	if len(sockets) != 2 || sockets[""] {
		t.Errorf("two calls from one address are the sockets %v", sockets)
	}
}
