package pair

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

// What a topic says of acks=1, and a broker of its claims, counts over the wire: a record that only its source has
// is refused or waits, and a claim is called unconfirmed soon after the source has died.
func TestWeakAcksAndTheLeaseFollowTheirSettings(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2", Args: []string{"--set", "lockstep.claim.lease.ms=1500"}})
	destination.createMirror(t, "dr", source)
	topics := map[string]string{"refusing": "refuse", "upgrading": "upgrade", "allowing": "allow"}
	for topic, weak := range topics {
		created, err := kadm.NewClient(source.admin.Kafka).CreateTopic(t.Context(), 1, 3, map[string]*string{"lockstep.weak.acks": &weak}, topic)
		if err != nil || created.Err != nil {
			t.Fatalf("create %s: %v, %v", topic, err, created.Err)
		}
		if a := source.produce(t, topic, 0, send{14, 1, time.Second, "not gated yet"}); a.code != perr.None {
			t.Errorf("acks=1 to %s before it is gated: %s", topic, a)
		}
		destination.startSync(t, "dr", topic)
		destination.awaitSync(t, "dr", topic)
	}
	if a := source.produce(t, "refusing", 0, send{11, 1, time.Second, "weak"}); a.code != perr.InvalidRequiredAcks || !strings.Contains(a.text, "lockstep.weak.acks") {
		t.Errorf("acks=1 where they are refused: %s", a)
	}
	if a := source.produce(t, "upgrading", 0, send{14, 1, patience, "strong"}); a.code != perr.None {
		t.Errorf("acks=1 where they wait: %s", a)
	}
	destination.pause(t)
	if a := source.produce(t, "upgrading", 0, send{14, 1, time.Second, "strong"}); a.code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("acks=1 where they wait, with the destination gone: %s", a)
	}
	if a := source.produce(t, "allowing", 0, send{14, 1, time.Second, "weak"}); a.code != perr.None {
		t.Errorf("acks=1 where they are allowed: %s", a)
	}
	destination.resume(t)
	destination.awaitSync(t, "dr", "allowing")
	died := time.Now()
	source.Kill()
	destination.awaitTopic(t, "dr", "allowing", "unconfirmed", func(now described) bool { return now.Unconfirmed })
	if took := time.Since(died); took > 8*time.Second {
		t.Errorf("a lease of 1.5 s was over after %s", took)
	}
}
