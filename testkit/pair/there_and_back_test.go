package pair

import (
	"testing"

	"lockstep/clusterd/process"
)

// Three moves of one topic between two clusters, which mirror each other under two names. Each reign has an era above the
// last one, and a topic that comes back under its old id is gated like any other.
func TestATopicMovesThereAndBack(t *testing.T) {
	t.Parallel()
	one := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	two := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	one.createTopic(t, "orders", 1)
	two.createMirror(t, "east", one)
	one.createMirror(t, "west", two)
	one.mustProduce(t, "orders", 0, "written at dc1")
	for era, move := range []struct {
		from, to *datacenter
		mirror   string
		value    string
	}{{one, two, "east", "written in era 1"}, {two, one, "west", "written in era 2"}, {one, two, "east", "written in era 3"}} {
		if era > 0 {
			move.to.deleteTopic(t, "orders") // what it has was handed over, and it begins again as a copy
		}
		move.to.startSync(t, move.mirror, "orders")
		move.to.awaitSync(t, move.mirror, "orders")
		move.to.switchOver(t, move.mirror, "orders")
		now := move.to.awaitStopped(t, move.mirror, "orders")
		if now.Era != int64(era+1) {
			t.Errorf("move %d opened in era %d: %s", era+1, now.Era, sight(now))
		}
		move.from.awaitStanding(t, "orders", "SUPERSEDED")
		move.to.mustProduce(t, "orders", 0, move.value)
	}
	for _, value := range []string{"written at dc1", "written in era 1", "written in era 2", "written in era 3"} {
		if seen := two.consume(t, "orders", 0); !seen.has(value) {
			t.Errorf("%q is lost", value)
		}
	}
}
