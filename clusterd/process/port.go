package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
)

func lockThread() { runtime.LockOSThread() }

// freePorts finds n consecutive ports that nobody listens on, below the range the kernel hands out to
// outgoing connections, so that a restart finds them free again.
func freePorts(n int) (int, error) {
	for range 200 {
		base := 15000 + rand.IntN(15000)
		if allFree(base, n) {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d consecutive free ports on 127.0.0.1 between 15000 and 30000", n)
}

func allFree(base, n int) bool {
	for p := base; p < base+n; p++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
