package pair

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/metrics"
	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
	site "lockstep/testkit/datacenter"
)

// health is what GET /health/mirrors says.
type health struct {
	Healthy bool
	Sync    int
	Topics  []struct{ Mirror, Topic, State, Reason string }
}

func (d *datacenter) mirrorsHealth(t *testing.T) (code int, h health) {
	t.Helper()
	code, body := d.Get(t, "/health/mirrors")
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return code, h
}

// What an operator sees of a healthy pair, of one that lost its source, and of a release.
func TestWhatAnOperatorSees(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1", Brokers: 1})
	destination := start(t, process.Spec{Cluster: "dc2", Brokers: 1})
	if code, h := destination.mirrorsHealth(t); code != http.StatusOK || !h.Healthy {
		t.Errorf("without a mirror: %d %+v", code, h)
	}
	source.createTopic(t, "orders", 2)
	source.mustProduce(t, "orders", 0, "before the mirror")
	destination.createMirror(t, "dr", source)
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	eventually(t, "healthy", func() (string, bool) {
		code, h := destination.mirrorsHealth(t)
		return fmt.Sprint(code, h), code == http.StatusOK && h.Healthy && h.Sync == 1
	})
	for i := range 5 {
		source.mustProduce(t, "orders", int32(i%2), "gated")
	}
	source.produce(t, "orders", 0, send{14, 1, time.Second, "unprotected"})
	refusesWrites(t, destination)
	source.consume(t, "orders", 0)

	t.Run("every promised metric, with help, on both sides together", func(t *testing.T) {
		here, there := source.Metrics(t), destination.Metrics(t)
		for _, n := range metrics.Names {
			series := n.Prometheus
			if strings.HasSuffix(series, "_ms") || strings.HasSuffix(series, "timems") {
				series += "_bucket"
			}
			if n.Needs == metrics.ListenerWithTLS {
				continue // which neither side has
			}
			if !slices.Contains(here.Names(), series) && !slices.Contains(there.Names(), series) {
				t.Errorf("neither side shows %s, which needs %s", series, n.Needs)
			}
			if here.Help[n.Prometheus] == "" && there.Help[n.Prometheus] == "" {
				t.Errorf("%s has no help", n.Prometheus)
			}
		}
	})

	t.Run("their values", func(t *testing.T) {
		eventually(t, "the numbers of what was done", func() (string, bool) {
			here, there := source.Metrics(t), destination.Metrics(t)
			wrong := ""
			want := func(p site.Page, least, most float64, name string, labels ...string) {
				if sum, ok := p.Sum(name, labels...); !ok || sum < least || sum > most {
					wrong += fmt.Sprintf("%s%v is %v (there: %v), not within %v and %v\n", name, labels, sum, ok, least, most)
				}
			}
			want(here, 5, 5, "kafka_server_mirror_sync_replication_latency_ms_count", "mirror", "dr", "topic", "orders")
			want(here, 5, 5, "kafka_server_mirror_acks_total", "mode", "SYNC")
			want(here, 1, 1, "kafka_server_mirror_unprotected_acks_total")
			for _, stage := range []string{"leader", "isr", "total"} {
				want(here, 6, 6, "kafka_server_mirror_ack_stage_ms_count", "stage", stage) // one before there was a mirror
			}
			want(here, 5, 5, "kafka_server_mirror_ack_stage_ms_count", "stage", "mirrors")
			want(there, 1, 10, "kafka_server_mirror_ack_stage_ms_count", "stage", "destination_append")
			want(there, 1, 10, "kafka_server_mirror_ack_stage_ms_count", "stage", "destination_isr")
			want(here, 1, 1, "kafka_server_mirror_registered_topics", "mirror", "dr")
			want(here, 0, 0, "kafka_server_mirror_gate_held_by", "mirror", "dr")
			want(here, 7, 7, "kafka_server_brokertopicmetrics_messagesin_total", "topic", "orders")
			want(here, 7, 7, "kafka_network_requestmetrics_requests_total", "request", "Produce")
			want(here, 7, 7, "kafka_network_requestmetrics_totaltimems_count", "request", "Produce")
			want(here, 5, 5, "kafka_log_log_logendoffset", "partition", "0")
			want(here, 1, 1, "kafka_controller_kafkacontroller_activecontrollercount")
			want(here, 2, 2, "kafka_server_replicamanager_leadercount")
			want(here, 2, 2, "kafka_server_replicamanager_atminisrpartitioncount")
			want(there, 1, 1, "kafka_network_requestmetrics_errors_total", "request", "Produce", "error", "READ_ONLY_TOPIC")
			want(there, 1, 1, "kafka_server_brokertopicmetrics_failedproducerequests_total")
			if n, shown := there.Sum("kafka_server_brokertopicmetrics_messagesin_total"); shown {
				wrong += fmt.Sprintf("clients wrote %v records to the copy\n", n)
			}
			want(there, 0, 0, "kafka_server_mirror_lag_offsets", "topic", "orders", "partition", "1")
			want(there, 0, 0, "kafka_server_mirror_lag_seconds", "topic", "orders", "partition", "1")
			want(there, 0, 0, "kafka_server_mirror_sync_partitions_failing", "mirror", "dr", "topic", "orders")
			want(there, 0, 0, "kafka_server_mirror_rpo_seconds", "topic", "orders")
			want(there, 1, 1, "kafka_server_mirror_topics", "mirror", "dr", "phase", "SYNC")
			want(there, 0, 0, "kafka_server_mirror_sync_registration_rejected_total", "reason", "VERSION_MISMATCH")
			for _, task := range []string{"fetch", "evidence", "metadata"} {
				want(there, 0, 60, "kafka_server_mirror_task_last_success_age_seconds", "task", task)
			}
			return wrong, wrong == ""
		})
	})

	t.Run("a source that is gone is not a lag of zero", func(t *testing.T) {
		source.Kill()
		eventually(t, "not healthy, with a reason", func() (string, bool) {
			code, h := destination.mirrorsHealth(t)
			return fmt.Sprint(code, h), code == http.StatusServiceUnavailable && !h.Healthy && len(h.Topics) == 1 &&
				h.Topics[0].Mirror == "dr" && h.Topics[0].Topic == "orders" && h.Topics[0].Reason != "" && h.Topics[0].State != ""
		})
		for _, path := range []string{"/livez", "/readyz"} {
			if code, body := destination.Get(t, path); code != http.StatusOK {
				t.Errorf("%s with the source gone: %d %s", path, code, body)
			}
		}
		eventually(t, "lag is absent, failures are counted, RPO grows", func() (string, bool) {
			p := destination.Metrics(t)
			_, lag := p.Sum("kafka_server_mirror_lag_offsets")
			failing, known := p.Sum("kafka_server_mirror_sync_partitions_failing")
			failures, _ := p.Sum("kafka_server_mirror_sync_partition_fetch_failures_total")
			exposed, shown := p.Sum("kafka_server_mirror_rpo_seconds")
			age, _ := p.Sum("kafka_server_mirror_task_last_success_age_seconds", "task", "fetch")
			seen := fmt.Sprintf("lag %v, failing %v %v, failures %v, rpo %v %v, age %v", lag, failing, known, failures, exposed, shown, age)
			return seen, !lag && known && failing == 2 && failures > 0 && shown && exposed > 0 && age > 5
		})
	})

	t.Run("a destination that just started knows nothing yet", func(t *testing.T) {
		destination.Kill()
		destination.restart(t)
		p := destination.Metrics(t)
		if age, ok := p.Sum("kafka_server_mirror_task_last_success_age_seconds", "task", "metadata"); !ok || age < 1e9 {
			t.Errorf("metadata was read %v s ago (%v), by a process that never did", age, ok)
		}
		for _, name := range []string{"lag_offsets", "lag_seconds", "lag_bytes"} {
			if sum, ok := p.Sum("kafka_server_mirror_" + name); ok {
				t.Errorf("%s is %v with a source that was never heard", name, sum)
			}
		}
		if down, ok := p.Sum("kafka_server_mirror_sync_partitions_failing"); ok && down == 0 {
			t.Error("no partition is failing, with a source that was never heard")
		}
	})

	t.Run("a release is seen on both sides", func(t *testing.T) {
		destination.pause(t)
		source.restart(t)
		if a := source.produce(t, "orders", 0, acksAll(time.Second, "held")); a.code != perr.MirrorSyncReplicationTimeout {
			t.Fatalf("with the destination frozen: %s", a)
		}
		p := source.Metrics(t)
		if unheard, ok := p.Sum("kafka_server_mirror_gate_unknown", "mirror", "dr"); !ok || unheard != 2 {
			t.Errorf("partitions that never heard of the mirror: %v", unheard)
		}
		if given, ok := p.Sum("kafka_server_mirror_sync_replication_latency_ms_sum", "mirror", "dr"); !ok || given < 800 {
			t.Errorf("a batch that was given up after 900 ms counts with %v ms", given)
		}
		source.release(t, "dr")
		if n := source.metric(t, "kafka_server_mirror_released_topics"); n != 1 {
			t.Errorf("%v topics are released", n)
		}
		source.mustProduce(t, "orders", 0, "released")
		if n := source.Metric(t, "kafka_server_mirror_acks_total", "mode", "RELEASED"); n != 1 {
			t.Errorf("%v acks under the release", n)
		}
		destination.resume(t)
		destination.awaitSync(t, "dr", "orders")
		eventually(t, "the rejection is counted and the release is over", func() (string, bool) {
			n := destination.Metric(t, "kafka_server_mirror_sync_registration_rejected_total", "reason", "RELEASED_FRESH_PROMOTION_REQUIRED")
			marked := source.metric(t, "kafka_server_mirror_released_topics")
			return fmt.Sprint(n, marked), n >= 1 && marked == 0
		})
	})
}

// refusesWrites writes to a mirrored topic: the error is counted, and nothing else is.
func refusesWrites(t *testing.T, destination *datacenter) {
	t.Helper()
	if a := destination.produce(t, "orders", 0, acksAll(time.Second, "intruder")); a.code != perr.ReadOnlyTopic {
		t.Fatalf("a write to the copy: %s", a)
	}
}
