package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

func described() (messages.DescribeClusterMirrorsResponseTopic, messages.DescribeClusterMirrorsResponsePartition) {
	text := "the source released this mirror"
	p := messages.DescribeClusterMirrorsResponsePartition{PartitionIndex: 3, SourceOffset: 120, DestinationOffset: 118, Lag: 2, StateValue: "MIRRORING",
		RetryAttempt: 1, ErrorMessage: &text, Armed: true, ZeroRpoFrom: 100, LastMirrorEpoch: 7}
	t := messages.DescribeClusterMirrorsResponseTopic{TopicName: "orders", DesiredMirrorType: admin.Sync, EffectiveMirrorType: admin.Async, RecoveryPending: true,
		State: "ASYNC (released, recovering)", Phase: "ARMING", ArmedPartitions: 1, ClaimTimeMs: 1_700_000_000_000, Unconfirmed: true,
		Partitions: []messages.DescribeClusterMirrorsResponsePartition{p}}
	return t, p
}

// Users pipe this to jq: a field may be added, and none may change its name.
func TestDescribeAsJSONKeepsItsFields(t *testing.T) {
	topic, p := described()
	var out bytes.Buffer
	if err := printJSON(&out, []describeRow{describeOne("dr", topic, p)}); err != nil {
		t.Fatal(err)
	}
	const want = `[
  {
    "mirror": "dr",
    "topic": "orders",
    "partition": 3,
    "sourceOffset": 120,
    "destinationOffset": 118,
    "lag": 2,
    "state": "MIRRORING",
    "retryAttempt": 1,
    "errorMessage": "the source released this mirror",
    "desiredType": "SYNC",
    "effectiveType": "ASYNC",
    "recoveryPending": true,
    "topicState": "ASYNC (released, recovering)",
    "phase": "ARMING",
    "armedPartitions": 1,
    "armed": true,
    "zeroRpoFrom": 100,
    "claimTime": "2023-11-14T22:13:20.000Z",
    "unconfirmed": true,
    "lastMirrorEpoch": 7`
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A line that is longer than the terminal breaks in the middle of a number. Long names are cut, long texts go below.
func TestEveryTableFitsTheScreen(t *testing.T) {
	topic, p := described()
	for _, size := range []int{1, 10, 40, 249} {
		row := describeOne(strings.Repeat("m", size), topic, p)
		row.Topic, row.State = strings.Repeat("t", size)+"-end", strings.Repeat("S", min(size, 40))
		row.SourceOffset, row.DestinationOffset, row.Lag = 1<<62, 1<<62, 1<<62
		row.ErrorMessage = strings.Repeat("why it is so ", size)
		for name, show := range map[string]func(*bytes.Buffer){
			"partitions": func(w *bytes.Buffer) { printPartitions(w, []describeRow{row, row}) },
			"failed":     func(w *bytes.Buffer) { printFailed(w, []describeRow{row, row}) },
		} {
			var out bytes.Buffer
			show(&out)
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > screen {
					t.Errorf("%s, names of %d: %d characters: %s", name, size, n, line)
				}
			}
			if text := strings.Join(strings.Fields(out.String()), " "); size <= 10 && strings.Count(text, strings.TrimSpace(row.ErrorMessage)) != 2 && name == "partitions" {
				t.Errorf("%s, names of %d: the reason is not whole:\n%s", name, size, out.String())
			}
			if !strings.Contains(out.String(), "-end") || !strings.Contains(out.String(), "PARTITION") {
				t.Errorf("%s, names of %d:\n%s", name, size, out.String())
			}
		}
	}
}
