package pair

import (
	"net"
	"testing"

	"lockstep/clusterd/process"
)

// A cluster whose NATS is not there when it starts serves all the same, and uses it when it comes up: here a bare
// listener, which must neither stop the cluster nor make it wait.
func TestANATSThatIsNoNATS(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	silent := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(silent)
				return
			}
			silent <- c // says nothing, and is closed with the test
		}
	}()
	dc := start(t, process.Spec{Cluster: "dc1", Brokers: 1, NATSURL: "nats://" + l.Addr().String()})
	dc.createTopic(t, "orders", 1)
	dc.mustProduce(t, "orders", 0, "without NATS")
	await(t, "the cluster tries its NATS", silent).Close()
	dc.mustProduce(t, "orders", 0, "after NATS hung up")
	mustStop(t, dc)
}
