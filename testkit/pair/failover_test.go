package pair

import (
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// F18, I46: the source stands still, the destination takes over, the source goes on. From then on it acknowledges
// nothing new, with acks=all because the standing registration is its gate and with acks=1 because it hears of the new
// era; and it says who has taken over.
func TestASourceThatComesBackAfterAFailoverStops(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 3)
	destination.createMirror(t, "dr", source)
	load := source.produceUnderLoad(t, "orders")
	load.awaitMore(t, 1)
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	load.awaitMore(t, 1000)

	source.pause(t)
	if warning := destination.failOver(t, "dr", "orders"); warning != "" {
		t.Logf("the failover warns: %s", warning)
	}
	now := destination.awaitStopped(t, "dr", "orders")
	if now.Verb != "failover" || now.Era != 1 || !now.TellingSource {
		t.Errorf("ended by %q in era %d, telling %v: %s", now.Verb, now.Era, now.TellingSource, sight(now))
	}
	moved := destination.produceUnderLoad(t, "orders")
	moved.awaitMore(t, 300)

	source.resume(t) // its own client goes on, too: what it sent before is answered or refused now
	was := source.awaitStanding(t, "orders", "SUPERSEDED")
	if was.SuccessorCluster != "dc2" || was.SuccessorEra != 1 || was.Planned {
		t.Errorf("the old source says %+v", was)
	}
	destination.awaitTopic(t, "dr", "orders", "obeyed by the old source", func(now described) bool { return now.SourceObeys == 1 && !now.TellingSource })
	answered := load.Acked()
	for _, partition := range []int32{0, 1, 2} {
		for _, s := range []send{{14, -1, time.Second, "late"}, {14, 1, time.Second, "late"}} {
			if a := source.produce(t, "orders", partition, s); a.code != perr.ReadOnlyTopic || !strings.Contains(a.text, "dc2") {
				t.Errorf("acks=%d at the old source: %s", s.Acks, a)
			}
		}
	}
	source.Kill()
	source.restart(t)
	if a := source.produce(t, "orders", 0, send{11, -1, time.Second, "late"}); a.code != perr.PolicyViolation || !strings.Contains(a.text, "dc2") {
		t.Errorf("after a restart, to an old client: %s", a)
	}
	moved.awaitMore(t, 300)
	load.End()
	if n := load.Acked(); n != answered {
		t.Errorf("the old source acknowledged %d records after it was superseded", n-answered)
	}
	moved.drain(t)
	moved.compare(t, destination)
	load.CheckLost(t, destination.Datacenter)
}

// An isolated source cannot acknowledge acks=all although it has not heard of the failover: its gate stands. The news
// reaches it over whatever way opens first, also after both sides have restarted.
func TestAnIsolatedSourceAcksNothingAndHearsLater(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1"}, process.Spec{Cluster: "dc2"}, 1)
	source.mustProduce(t, "orders", 0, "before")

	source.Kill()
	destination.failOver(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	destination.mustProduce(t, "orders", 0, "after")
	destination.Kill() // the destination is not there to tell it
	source.restart(t)
	if a := source.produce(t, "orders", 0, acksAll(1500*time.Millisecond, "isolated")); a.code == perr.None {
		t.Errorf("an isolated source acknowledged: %s", a)
	}
	if s := source.asSource(t, "orders"); s.Standing != "PRIMARY" {
		t.Errorf("nobody has told it, and it says %+v", s)
	}
	destination.restart(t)
	source.awaitStanding(t, "orders", "SUPERSEDED")
	destination.mustProduce(t, "orders", 0, "and on")
	if seen := destination.consume(t, "orders", 0); !seen.has("before") || !seen.has("after") || seen.has("isolated") {
		t.Errorf("the destination has before %v, after %v, isolated %v", seen.has("before"), seen.has("after"), seen.has("isolated"))
	}
}

// A source that is alive is warned of; it hears at once.
func TestAFailoverFromALivingSourceWarns(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2", Brokers: 1}, 1)
	if warning := destination.failOver(t, "dr", "orders"); !strings.Contains(warning, "--switchover") {
		t.Errorf("warned of %q", warning)
	}
	destination.awaitStopped(t, "dr", "orders")
	source.awaitStanding(t, "orders", "SUPERSEDED")
}

// The tool as an operator meets it: a switchover needs the source and says which verb does not; a preview changes nothing;
// a failover that is waited for ends writable.
func TestTheToolNamesTheOtherVerb(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2", Brokers: 1}, 1)
	mirrors := func(flags ...string) (string, int) {
		return clusterctl(t, append([]string{"mirrors", "--bootstrap-server", strings.Join(destination.Bootstrap(), ","), "--mirror", "dr"}, flags...)...)
	}
	if out, code := mirrors("--failover", "--preview"); code != 0 || !strings.Contains(out, "ARMED") || !strings.Contains(out, "--switchover loses nothing") {
		t.Errorf("a preview ends with %d:\n%s", code, out)
	}
	source.Kill()
	destination.awaitTopic(t, "dr", "orders", "unconfirmed", func(now described) bool { return now.Unconfirmed })
	if out, code := mirrors("--switchover", "--wait"); code != 1 || !strings.Contains(out, "use --failover") {
		t.Errorf("a switchover from a dead source ends with %d:\n%s", code, out)
	}
	if now := destination.awaitTopic(t, "dr", "orders", "as it was", func(described) bool { return true }); now.Phase != "SYNC" {
		t.Errorf("after a preview and a refusal: %s", sight(now))
	}
	if out, code := mirrors("--failover", "--wait", "--json"); code != 0 || !strings.Contains(out, `"era": 1`) || !strings.Contains(out, "has not answered yet") {
		t.Errorf("a failover ends with %d:\n%s", code, out)
	}
	destination.mustProduce(t, "orders", 0, "after")
}
