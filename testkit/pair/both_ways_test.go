package pair

import (
	"testing"

	"lockstep/clusterd/process"
)

// Two sites that write topics of their own mirror each other's. A cycle is of one topic: a cluster that gates one topic
// behind another may be gated by it for the next, else no topic could go home while others stay.
func TestTopicsAreMirroredBothWays(t *testing.T) {
	t.Parallel()
	one := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	two := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	one.createTopic(t, "orders", 1)
	two.createTopic(t, "invoices", 1)
	two.createMirror(t, "east", one)
	one.createMirror(t, "west", two)
	two.startSync(t, "east", "orders")
	two.awaitSync(t, "east", "orders")
	one.startSync(t, "west", "invoices")
	one.awaitSync(t, "west", "invoices")
	one.mustProduce(t, "orders", 0, "an order")
	two.mustProduce(t, "invoices", 0, "an invoice")
	two.awaitCommitted(t, "orders", "an order") // HW follows with the next fetch
	one.awaitCommitted(t, "invoices", "an invoice")
}
