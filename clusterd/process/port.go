package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
)

func lockThread() { runtime.LockOSThread() }

// Ports that the kernel hands out neither to outgoing connections nor to listeners that ask for any: on Linux those
// begin at 32768. Whoever closes one of these finds it free again; of the others, a connection may take it meanwhile.
const (
	lowestPort  = 15000
	highestPort = 30000
)

// FreePorts finds n consecutive ports of 127.0.0.1 that nobody listens on and returns the first.
func FreePorts(n int) (int, error) {
	for range 200 {
		base := lowestPort + rand.IntN(highestPort-lowestPort-n)
		if allFree(base, n) {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d consecutive free ports on 127.0.0.1 between %d and %d", n, lowestPort, highestPort)
}

func allFree(base, n int) bool {
	for p := base; p < base+n; p++ {
		l, err := listen(p)
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// FreeAddress is a free one of 127.0.0.1.
func FreeAddress() (string, error) {
	port, err := FreePorts(1)
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}
