package pair

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

// create makes a topic with settings.
func (d *datacenter) create(t *testing.T, topic string, partitions int32, replicas int16, settings map[string]string) {
	t.Helper()
	configs := map[string]*string{}
	for k, v := range settings {
		configs[k] = &v
	}
	created, err := kadm.NewClient(d.admin.Kafka).CreateTopic(t.Context(), partitions, replicas, configs, topic)
	if err == nil {
		err = created.Err
	}
	if err != nil {
		t.Fatalf("create %s on %s: %v", topic, d.Cluster, err)
	}
}

// dirs are the flags that name every data directory.
func (d *datacenter) dirs() []string {
	if d.Brokers == 1 {
		return []string{"--data-dir", d.Dir}
	}
	var flags []string
	for i := 1; i <= d.Brokers; i++ {
		flags = append(flags, "--data-dir", filepath.Join(d.Dir, fmt.Sprintf("broker-%d", i)))
	}
	return flags
}

// R11: a source that came back from an old copy makes its mirror DIVERGED. Meanwhile it writes as much under the same epoch
// as it had lost, so that offsets and epochs agree again. The operator who takes the source's log gets
// it, byte for byte and SYNC again, and what only the mirror had is in quarantine, intact; one who does not say so gets
// nothing cut.
func TestAnOperatorTakesTheSourcesLog(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1", Brokers: 1}, process.Spec{Cluster: "dc2"}, 1)
	source.mustProduce(t, "orders", 0, "in the backup")
	backup := source.backUp(t)
	last := source.mustProduce(t, "orders", 0, "only the mirror has it")
	destination.awaitTopic(t, "dr", "orders", "in possession of it", func(now described) bool { return now.Partitions[0].DestinationOffset == last+1 })
	source.Kill()
	swap(t, source.Dir, backup)
	source.restart(t)
	destination.awaitTopic(t, "dr", "orders", "DIVERGED", func(now described) bool { return now.Phase == "DIVERGED" })
	// By the numbers of offsets and epochs nothing is missing any more.
	if a := source.produce(t, "orders", 0, send{14, 1, patience, "of the restored source"}); a.code != perr.None || a.base != last {
		t.Fatalf("acks=1 at the restored source, where the mirror has record %d: %s", last, a)
	}

	if out, code := destination.cli(t, "--recover", "--mirror", "dr", "--topics", "orders"); code == 0 || !strings.Contains(out, "--accept-source") {
		t.Errorf("--recover alone ends with %d:\n%s", code, out)
	}
	if now, err := destination.describe(t.Context(), "dr", "orders"); err != nil || now.Partitions[0].DestinationOffset != last+1 {
		t.Fatalf("without a word of the operator: %v, %s", err, sight(now))
	}
	destination.mustCLI(t, "--recover", "--accept-source", "--mirror", "dr", "--topics", "orders")
	destination.awaitSync(t, "dr", "orders")
	source.mustProduce(t, "orders", 0, "on both again")
	source.sameLogAs(t, destination, "orders", 1)
	if seen := destination.consume(t, "orders", 0); seen.has("only the mirror has it") || !seen.has("of the restored source") {
		t.Errorf("after the recovery the mirror shows %q", seen.bytes)
	}

	out, code := clusterctl(t, append([]string{"journal", "quarantine", "--json"}, destination.dirs()...)...)
	var kept []struct{ Path, Result, Problem string }
	if err := json.Unmarshal([]byte(out), &kept); err != nil || code != 0 || len(kept) == 0 {
		t.Fatalf("quarantine ends with %d, %v:\n%s", code, err, out)
	}
	found := false
	for _, k := range kept {
		text, err := os.ReadFile(k.Path)
		if err != nil {
			t.Fatal(err)
		}
		found = found || strings.Contains(string(text), "only the mirror has it")
	}
	if !found {
		t.Errorf("no file in quarantine has what was cut: %+v", kept)
	}
}

// R12: the only replica of a partition comes back on an empty volume. Nobody may lead it until the operator accepts the
// loss; then it takes writes, and the mirror keeps what the source has lost until its own operator decides.
func TestAnOperatorAcceptsALoss(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	source.create(t, "orders", 1, 1, map[string]string{"min.insync.replicas": "1"})
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	for range 5 {
		source.mustProduce(t, "orders", 0, "acknowledged and lost")
	}
	acceptLoss := func(flags ...string) (string, int) {
		return clusterctl(t, append([]string{"partitions", "accept-loss", "--bootstrap-server", strings.Join(source.Bootstrap(), ",")}, flags...)...)
	}
	if out, code := acceptLoss("--topic", "orders"); code != 0 || !strings.Contains(out, "nothing is lost") {
		t.Errorf("accept-loss with a leader ends with %d:\n%s", code, out)
	}
	on := source.partition(t, "orders", 0).leader
	source.Kill()
	if err := os.RemoveAll(filepath.Join(source.Dir, fmt.Sprintf("broker-%d", on))); err != nil {
		t.Fatal(err)
	}
	source.restart(t)
	eventually(t, "the partition is offline", func() (string, bool) {
		n := source.metric(t, "kafka_controller_kafkacontroller_offlinepartitionscount")
		return fmt.Sprint(n), n == 1
	})
	if out, code := acceptLoss("--topic", "nothing"); code == 0 {
		t.Errorf("accept-loss of a topic that is not there ends with 0:\n%s", out)
	}
	out, code := acceptLoss("--topic", "orders", "--partition", "0")
	if code != 0 || !strings.Contains(out, "Accepted the loss") {
		t.Fatalf("accept-loss ends with %d:\n%s", code, out)
	}
	if a := source.produce(t, "orders", 0, send{14, 1, patience, "written after the loss"}); a.code != perr.None {
		t.Errorf("acks=1 after the loss: %s", a)
	}
	if n := source.metric(t, "kafka_controller_controllerstats_uncleanleaderelections_total"); n != 1 {
		t.Errorf("%v unclean elections are counted", n)
	}
	destination.awaitTopic(t, "dr", "orders", "DIVERGED", func(now described) bool { return now.Phase == "DIVERGED" })
	source.mustProduce(t, "orders", 0, "acknowledged after the loss")
	destination.stopTopic(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	if seen := destination.consume(t, "orders", 0); !seen.has("acknowledged and lost") || seen.has("after the loss") {
		t.Errorf("the mirror shows %q", seen.bytes)
	}
}

// D3: where the ledger is strict, an ack waits for its entry. After kill -9 an audit of what was acknowledged never says
// UNKNOWN.
func TestAStrictLedgerKnowsEveryAck(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	source.create(t, "strict", 1, 3, map[string]string{"lockstep.ledger": "strict"})
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "strict")
	destination.awaitSync(t, "dr", "strict")
	for round := range 3 {
		cl, err := kgo.NewClient(kgo.SeedBrokers(source.Bootstrap()...), kgo.DefaultProduceTopic("strict"), kgo.ProducerLinger(0),
			kgo.MaxBufferedRecords(64), kgo.RecordRetries(0), kgo.Dialer(source.Dial))
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var acked []int64
		enough, died := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(died)
			for t.Context().Err() == nil {
				over := make(chan error, 1)
				cl.Produce(t.Context(), &kgo.Record{Value: []byte("promised")}, func(r *kgo.Record, err error) {
					if err != nil {
						over <- err
						return
					}
					mu.Lock()
					if acked = append(acked, r.Offset); len(acked) == 200 {
						close(enough)
					}
					mu.Unlock()
				})
				select {
				case <-over:
					return
				default:
				}
			}
		}()
		await(t, "200 records are acknowledged", enough)
		source.Kill()
		cl.Close()
		await(t, "the client has ended", died)
		mu.Lock()
		last := acked[max(0, len(acked)-12):]
		mu.Unlock()
		for _, offset := range last {
			out, code := clusterctl(t, append([]string{"journal", "dump", "--json", "--topic", "strict", "--partition", "0", "--offset", fmt.Sprint(offset)}, source.dirs()...)...)
			var said explanation
			if err := json.Unmarshal([]byte(out), &said); err != nil || code != 0 {
				t.Fatalf("dump ends with %d, %v:\n%s", code, err, out)
			}
			if said.Entry == nil || said.Mode != "SYNC" || said.Entry.From > offset || said.Entry.To <= offset {
				t.Errorf("round %d: the audit of offset %d, which was acknowledged: %s", round, offset, said.Verdict)
			}
		}
		source.restart(t)
	}
}

// C5: the draft's time-out. A source that refuses every partition without saying that it released the mirror is believed
// after the time that the broker's setting names, and the mirror's own setting goes before it.
func TestARefusedMirrorDemotesAfterItsTime(t *testing.T) {
	t.Parallel()
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1, Args: []string{"--set", "mirror.sync.topic.demote.timeout.ms=1500"}})
	source := destination.plainSource(t, 20)
	destination.startSync(t, "dr", "orders")
	destination.awaitTopic(t, "dr", "orders", "SYNC by the peer's word", asReported)
	ackedBy(t, source, "gated")
	refused := time.Now() // a fetch that was parked may have left half a second earlier, and counts from there
	source.Refuse(perr.InvalidSyncRegistration)
	destination.awaitTopic(t, "dr", "orders", "demoted", func(now described) bool {
		return now.EffectiveMirrorType == admin.Async && now.DesiredMirrorType == admin.Sync && now.RecoveryPending
	})
	if took := time.Since(refused); took < 900*time.Millisecond || took > 20*time.Second {
		t.Errorf("a time-out of 1.5 s took %s", took)
	}
	source.Refuse(perr.None)
	destination.awaitTopic(t, "dr", "orders", "SYNC again by itself", asReported)
	ackedBy(t, source, "gated again")
}
