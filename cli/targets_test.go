package main

import (
	"bytes"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/target"
)

func rowOf(cluster string, partition int32, epoch core.LeaderEpoch, floor core.Offset) targetRow {
	return targetRow{Source: "dc1", Topic: "orders", Partition: partition, Cluster: cluster, SourceEpoch: int32(epoch), Floor: int64(floor), said: target.Candidate{
		Cluster: core.ClusterID(cluster), Armed: true, Adopted: epoch, GatedIn: epoch, Floor: floor, LogEnd: floor}}
}

func TestOneDestinationIsChosenForAWholeTopic(t *testing.T) {
	for _, row := range []struct {
		name       string
		rows       []targetRow
		want, says string
	}{
		{"the same is best everywhere", []targetRow{
			rowOf("dr1", 0, 5, 10), rowOf("dr2", 0, 6, 10), rowOf("dr1", 1, 5, 99), rowOf("dr2", 1, 6, 99)}, "dr2", "newest source epoch"},
		{"equal on one partition, better on the other", []targetRow{
			rowOf("dr1", 0, 5, 10), rowOf("dr2", 0, 5, 10), rowOf("dr1", 1, 5, 7), rowOf("dr2", 1, 5, 9)}, "dr2", "floor"},
		{"each is best somewhere (F38)", []targetRow{
			rowOf("dr1", 0, 5, 11), rowOf("dr2", 0, 5, 10), rowOf("dr1", 1, 5, 7), rowOf("dr2", 1, 5, 9)}, "", "different destinations"},
		{"a destination that lacks a partition", []targetRow{
			rowOf("dr1", 0, 6, 10), rowOf("dr2", 0, 5, 10), rowOf("dr2", 1, 5, 9)}, "", "different destinations"},
		{"one partition without a leader there", []targetRow{
			rowOf("dr1", 0, 5, core.Unknown), rowOf("dr2", 0, 5, 10), rowOf("dr1", 1, 5, 7), rowOf("dr2", 1, 5, 9)}, "", "dr1 has no leader"},
	} {
		verdicts := judge(row.rows)
		if len(verdicts) != 1 || verdicts[0].cluster != row.want || !strings.Contains(verdicts[0].reason, row.says) {
			t.Errorf("%s: %+v, want %q, %q", row.name, verdicts, row.want, row.says)
		}
		var out bytes.Buffer
		printTargets(&out, row.rows, verdicts)
		for line := range strings.Lines(out.String()) {
			if len(strings.TrimRight(line, "\n")) > screen {
				t.Errorf("%s: %d characters: %s", row.name, len(line), line)
			}
		}
	}
}

func TestEachTopicHasItsOwnVerdict(t *testing.T) {
	other := rowOf("dr1", 0, 5, 3)
	other.Topic = "payments"
	elsewhere := rowOf("dr2", 0, 5, 3)
	elsewhere.Source = "dc9" // the same name at another source is another topic
	verdicts := judge([]targetRow{other, rowOf("dr1", 0, 5, 1), elsewhere})
	if len(verdicts) != 3 || verdicts[0].cluster != "dr1" || verdicts[1].cluster != "dr1" || verdicts[2].cluster != "dr2" {
		t.Fatalf("%+v", verdicts)
	}
}
