package datacenter

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"lockstep/clusterd/process"
	"lockstep/testkit/wire"
)

// Lane is the road of one caller to a datacenter that several others reach: what it suffers, they do not.
type Lane struct {
	Road
	caller atomic.Pointer[Datacenter]
}

// Take makes the lane that of a cluster: the connections of its process, also after a restart, go over it.
func (l *Lane) Take(caller *Datacenter) { l.caller.Store(caller) }

// StartForked is StartBehind with a lane for each of the callers to come. All are told the same addresses; whose a
// connection is, the system says. The harness's own go past them.
func StartForked(t T, s process.Spec, filters ...Filters) (*Datacenter, []*Lane) {
	t.Helper()
	if s.Brokers == 0 {
		s.Brokers = 3
	}
	base := Ports(t, s.Brokers+2)
	s.KafkaPort, s.NATSPort, s.HTTPPort = base, base+s.Brokers, base+s.Brokers+1
	var lanes []*Lane
	for _, f := range filters {
		l := &Lane{}
		open := func(to int, filter wire.Filter) *wire.Wire {
			w, err := wire.NewFiltered(loopback(to), filter)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.End)
			return w
		}
		for i := range s.Brokers {
			l.Kafka = append(l.Kafka, open(base+i, f.Kafka))
		}
		l.NATS = open(s.NATSPort, f.NATS)
		lanes = append(lanes, l)
	}
	at, past := Ports(t, s.Brokers+1), map[string]string{}
	var told []string
	for i := range s.Brokers + 1 {
		fork, err := wire.NewFork(loopback(at+i), func(c net.Conn) (string, bool) {
			for _, l := range lanes {
				if d := l.caller.Load(); d != nil && opened(int(d.pid.Load()), c) {
					return append(l.Kafka, l.NATS)[i].Address(), true
				}
			}
			return loopback(base + i), opened(os.Getpid(), c)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(fork.End)
		past[fork.Address()] = loopback(base + i)
		told = append(told, fork.Address())
	}
	for _, l := range lanes {
		l.told = told[:s.Brokers]
	}
	s.Args = append([]string{"--advertise", told[0], "--nats-advertise", "nats://" + told[s.Brokers]}, s.Args...)
	return startPast(t, s, past), lanes
}

// opened reports whether the other end of a TCP connection is one of a process.
func opened(pid int, c net.Conn) bool {
	socket := inode(c.RemoteAddr(), c.LocalAddr())
	if socket == "" {
		return false
	}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "socket:["+socket+"]" {
			return true
		}
	}
	return false
}

// inode is that of the socket with these IPv4 addresses, "" when there is none. Its own address alone is not enough:
// several sockets may have it, each with another far end.
func inode(own, far net.Addr) string {
	from, to := tableAddress(own), tableAddress(far)
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil || from == "" || to == "" {
		return ""
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 9 && f[1] == from && f[2] == to {
			return f[9]
		}
	}
	return ""
}

// tableAddress is an IPv4 address as the kernel's table of sockets has it, "" for any other.
func tableAddress(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || tcp.IP.To4() == nil {
		return ""
	}
	ip := tcp.IP.To4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], tcp.Port)
}
