package main

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
	"lockstep/journal"
	"lockstep/journal/journaltest"
	"lockstep/journal/quorum"
	"lockstep/journal/volume"
	"lockstep/protocol/batch"
)

var orders = core.TopicID{1, 2, 3}

// written is the directory of a closed volume that has a topic, records 0 to 4 of it and the ledger entry for 0 to 2.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	v, err := volume.Open(volume.Options{Dir: dir, Cluster: "dc1", Broker: 1, SegmentBytes: 1 << 20, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	q, err := quorum.Open([]quorum.Member{{ID: 1, Journal: v}}, quorum.Options{})
	if err != nil {
		t.Fatal(err)
	}
	event := func(payload []byte) core.Entry { return core.Entry{Kind: core.EntryEvent, Payload: payload} }
	journaltest.Append(t, q, "control/controller", event(controller.EncodeEvent(controller.TopicCreated{Topic: controller.TopicRecord{Topic: orders, Name: "orders", Partitions: []controller.PartitionRecord{{Topic: orders}}}})))
	records := make([]batch.Record, 5)
	b := batch.Build(batch.Batch{LeaderEpoch: 2, ProducerID: 77, ProducerEpoch: 0, BaseSequence: 0}, records)
	journaltest.Append(t, v, journal.Stream("partition/"+orders.String()+"/0/1"), core.Entry{Kind: core.EntryBatch, Op: core.IndexAdd, Base: 0, Last: 4, Epoch: 2, Payload: b.Bytes})
	journaltest.Append(t, v, journal.Stream("ledger/"+orders.String()+"/0"), event(highwater.EncodeEvent(highwater.HighWatermarkAdvanced{Stamp: 1, LeaderEpoch: 2, From: 0, To: 3,
		Replicas: []highwater.LedgerReplica{{Replica: 1, LEO: 5}}, WallMs: time.Now().UnixMilli()})))
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// damage flips a byte of the record batch in the volume's segment.
func damage(t *testing.T, dir string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "log", "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatal("no segments", err)
	}
	for _, path := range segments {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.Index(string(raw), "partition/"+orders.String()); i >= 0 {
			raw[i+100] ^= 1
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the batch is in no segment")
}

func TestVerifySaysWhatItFoundByItsExitCode(t *testing.T) {
	dir := written(t)
	got := call("clusterctl", "journal", "verify", "--data-dir", dir)
	if got.code != 0 || !strings.Contains(got.out, "clean") || got.err != "" {
		t.Fatalf("a whole journal: %+v", got)
	}
	var rows []verifyRow
	if err := json.Unmarshal([]byte(call("clusterctl", "journal", "verify", "--json", "--data-dir", dir).out), &rows); err != nil || len(rows) != 1 {
		t.Fatal(err, rows)
	}
	if raw, err := hex.DecodeString(rows[0].Hash); err != nil || len(raw) != 32 || !strings.Contains(got.out, " "+rows[0].Hash[:12]+" ") {
		t.Errorf("the chain is %q (%v) in JSON and\n%s", rows[0].Hash, err, got.out)
	}
	if got := call("clusterctl", "journal", "dump", "--data-dir", dir, "--topic", "orders"); got.code != 0 || !strings.Contains(got.out, "batch") || !strings.Contains(got.out, "HighWatermarkAdvanced") {
		t.Errorf("dump: %+v", got)
	}
	damage(t, dir)
	got = call("clusterctl", "journal", "verify", "--data-dir", dir)
	if got.code != exitUnwanted || !strings.Contains(got.out, "PROBLEM") || !strings.Contains(got.out, ".seg") || !strings.Contains(got.err, "not as wanted") {
		t.Errorf("verify of a damaged journal: %+v", got)
	}
	got = call("clusterctl", "journal", "dump", "--data-dir", dir)
	if got.code != exitUnwanted || !strings.Contains(got.err, ".seg") || !strings.Contains(got.err, "not as wanted") {
		t.Errorf("dump of a damaged journal: %+v", got)
	}
}

// With an offset, dump says who has the record and what released its ack; a record that nothing proves is exit code 2.
func TestDumpOfOneOffset(t *testing.T) {
	dir := written(t)
	of := func(offset string, more ...string) ran {
		return call(append([]string{"clusterctl", "journal", "dump", "--data-dir", dir, "--topic", "orders", "--partition", "0", "--offset", offset}, more...)...)
	}
	got := of("2")
	for _, part := range []string{"orders/0 offset 2: COMMITTED under LOCAL", "HW 0 -> 3 in leader epoch 2", "local broker 1", "dc1/1", "0-4", "77/0/0"} {
		if got.code != 0 || !strings.Contains(got.out, part) {
			t.Errorf("a committed record: exit code %d (%s), %q does not say %q", got.code, got.err, got.out, part)
		}
	}
	var e explanation
	if err := json.Unmarshal([]byte(of("2", "--json").out), &e); err != nil || e.Mode != "LOCAL" || len(e.Holders) != 1 || e.Holders[0].Batch.Last != 4 {
		t.Errorf("as JSON: %+v, %v", e, err)
	}
	for offset, want := range map[string]string{"3": "UNKNOWN: no durable ledger entry covers the record", "9": "UNKNOWN: no replica here holds the record"} {
		if got := of(offset); got.code != exitUnwanted || !strings.Contains(got.out, want) || !strings.Contains(got.err, "not as wanted") || !strings.Contains(got.err, "--data-dir of every broker") {
			t.Errorf("offset %s: %+v", offset, got)
		}
	}
	if got := of("3"); !strings.Contains(got.err, "in the journals of the source") {
		t.Errorf("held, and not proven here: %q", got.err)
	}
	if got := call("clusterctl", "journal", "dump", "--data-dir", dir, "--topic", "order", "--partition", "0", "--offset", "2"); got.code != exitError || !strings.Contains(got.err, "no topic order") || !strings.Contains(got.err, "orders") {
		t.Errorf("a topic that is not there: %+v", got)
	}
	if got := call("clusterctl", "journal", "dump", "--data-dir", dir, "--topic", "orders", "--partition", "4", "--offset", "2"); got.code != exitError || !strings.Contains(got.err, "no partition 4") || !strings.Contains(got.err, "it has 1") {
		t.Errorf("a partition that is not there: %+v", got)
	}
}

// A record below the log start was deleted, although its batch may still be there: what released its ack is told all the same.
func TestDumpOfADeletedOffset(t *testing.T) {
	dir := written(t)
	v, err := volume.Open(volume.Options{Dir: dir, Cluster: "dc1", Broker: 1, SegmentBytes: 1 << 20, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	moved := partition.LogStartAdvanced{From: 0, To: 2, Reason: partition.ReasonClient, WallMs: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC).UnixMilli()}
	stream := journal.Stream("partition/" + orders.String() + "/0/1")
	journaltest.Append(t, v, stream, core.Entry{Kind: core.EntryEvent, Op: core.IndexTrim, Base: 2, Payload: partition.EncodeEvent(moved)})
	of := func(offset string) ran {
		return call("clusterctl", "journal", "dump", "--data-dir", dir, "--topic", "orders", "--partition", "0", "--offset", offset)
	}
	for offset, parts := range map[string][]string{
		"1": {"COMMITTED under LOCAL; DELETED since", "HW 0 -> 3", "begins at 2", "a client deleted records", "2026-11-30"},
		"2": {"orders/0 offset 2: COMMITTED under LOCAL\n", "0-4"},
	} {
		for _, part := range parts {
			if got := of(offset); got.code != 0 || !strings.Contains(got.out, part) {
				t.Errorf("offset %s: exit code %d (%s), %q does not say %q", offset, got.code, got.err, got.out, part)
			}
		}
	}
	// A snapshot knows it too, after the event is gone.
	snapshot := partition.Snapshot{LogStart: 5, LEO: 5}
	v.Snapshot(stream, snapshot.AppendTo(nil), nil)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[string]string{"2": "DELETED since", "4": "DELETED: the log begins above it"} {
		if got := of(offset); !strings.Contains(got.out, want) || !strings.Contains(got.out, "begins at 5") || (got.code == 0) != (offset == "2") {
			t.Errorf("offset %s: %+v", offset, got)
		}
	}
}

// A record that compaction has left out was acknowledged all the same; the others of its batch are still held.
func TestDumpOfACompactedOffset(t *testing.T) {
	dir := written(t)
	v, err := volume.Open(volume.Options{Dir: dir, Cluster: "dc1", Broker: 1, SegmentBytes: 1 << 20, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	stream := journal.Stream("partition/" + orders.String() + "/0/1")
	stored, err := v.ReadBatches(stream, 0, 1)
	if err != nil || len(stored) != 1 {
		t.Fatal(stored, err)
	}
	b, _, err := batch.Parse(stored[0].Bytes)
	if err != nil {
		t.Fatal(err)
	}
	some, err := b.Keeping(func(r batch.Record) bool { return r.Offset != 2 }, -1)
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Append(t, v, stream, core.Entry{Kind: core.EntryBatch, Op: core.IndexReplace, Base: 0, Last: 4, Payload: some.Bytes})
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for offset, parts := range map[string][]string{
		"2": {"COMMITTED under LOCAL; COMPACTED since", "HW 0 -> 3", "COMPACTED-AT", "dc1/1"},
		"1": {"orders/0 offset 1: COMMITTED under LOCAL\n", "0-4"},
	} {
		got := call("clusterctl", "journal", "dump", "--data-dir", dir, "--topic", "orders", "--partition", "0", "--offset", offset)
		for _, part := range parts {
			if got.code != 0 || !strings.Contains(got.out, part) {
				t.Errorf("offset %s: exit code %d (%s), %q does not say %q", offset, got.code, got.err, got.out, part)
			}
		}
	}
}
