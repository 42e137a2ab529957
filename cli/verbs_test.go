package main

import (
	"strings"
	"testing"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

func mirrored(phase, state string, partitions ...messages.DescribeClusterMirrorsResponsePartition) messages.DescribeClusterMirrorsResponseTopic {
	t := messages.NewDescribeClusterMirrorsResponseTopic()
	t.TopicName, t.Phase, t.State, t.Partitions = "orders", phase, state, partitions
	return t
}

func TestVerbsAreCheckedBeforeTheClusterIsAsked(t *testing.T) {
	for _, row := range []struct {
		name    string
		command mirrorsCommand
		want    string
	}{
		{"switchover", mirrorsCommand{Switchover: true, Mirror: "dr"}, ""},
		{"failover with a preview", mirrorsCommand{Failover: true, Mirror: "dr", Preview: true}, ""},
		{"a forced release", mirrorsCommand{ReleaseSync: true, Mirror: "dr", Force: true}, ""},
		{"of no mirror", mirrorsCommand{Failover: true}, "--failover needs --mirror"},
		{"both", mirrorsCommand{Switchover: true, Failover: true, Mirror: "dr"}, "exactly one"},
		{"a preview of nothing", mirrorsCommand{List: true, Preview: true}, "--preview goes with"},
		{"force of nothing", mirrorsCommand{Failover: true, Mirror: "dr", Force: true}, "--force goes with --release-sync"},
		{"sources of nothing", mirrorsCommand{List: true, Sources: true}, "--sources goes with --describe"},
	} {
		_, err := row.command.action()
		if got := textOf(err); row.want == "" && err != nil || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// C15: what a failover target is judged by, per partition; -1 is unknown and never zero.
func TestAPreviewSaysWhatWouldBeKept(t *testing.T) {
	p := messages.NewDescribeClusterMirrorsResponsePartition()
	p.SourceEpoch, p.Floor, p.DestinationOffset, p.SourceOffset, p.Lag = 5, 90, 100, 95, 0
	for _, row := range []struct {
		name   string
		change func(*messages.DescribeClusterMirrorsResponseTopic, *messages.DescribeClusterMirrorsResponsePartition)
		class  string
		kept   string
	}{
		{"armed with T", func(t *messages.DescribeClusterMirrorsResponseTopic, p *messages.DescribeClusterMirrorsResponsePartition) {
			p.Armed, t.ClaimTimeMs = true, 1_700_000_000_000
		}, "ARMED", "up to T"},
		{"armed without T", func(_ *messages.DescribeClusterMirrorsResponseTopic, p *messages.DescribeClusterMirrorsResponsePartition) {
			p.Armed = true
		}, "ARMED", "since the source gates"},
		{"caught up", nil, "UNARMED", "all that the source had"},
		{"behind", func(_ *messages.DescribeClusterMirrorsResponseTopic, p *messages.DescribeClusterMirrorsResponsePartition) {
			p.Lag = 7
		}, "UNARMED", "all but 7 records"},
		{"never heard", func(_ *messages.DescribeClusterMirrorsResponseTopic, p *messages.DescribeClusterMirrorsResponsePartition) {
			p.Lag, p.SourceOffset = -1, -1
		}, "UNARMED", "has not answered"},
	} {
		topic, partition := mirrored("SYNC", "SYNC"), p
		topic.ClaimTimeMs = -1
		if row.change != nil {
			row.change(&topic, &partition)
		}
		if got := previewOne("dr", topic, partition); got.Class != row.class || !strings.Contains(got.Kept, row.kept) || got.Floor != 90 || got.LogEnd != 100 || got.SourceEpoch != 5 {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

func TestAPreviewSaysWhatWouldBeRefusedOrIsNotNeeded(t *testing.T) {
	for _, row := range []struct {
		command mirrorsCommand
		topic   messages.DescribeClusterMirrorsResponseTopic
		want    string
	}{
		{mirrorsCommand{Switchover: true}, mirrored("SYNC", "SYNC"), ""},
		{mirrorsCommand{Switchover: true}, mirrored("ARMING", "ARMING 1 of 2"), "refused: it is ARMING 1 of 2, not SYNC"},
		{mirrorsCommand{Failover: true}, mirrored("SYNC", "SYNC"), "if it still does, --switchover loses nothing"},
		{mirrorsCommand{Failover: true}, mirrored("ASYNC", "ASYNC"), ""},
		{mirrorsCommand{Failover: true}, mirrored("STOPPING", "STOPPING (epoch)"), "being stopped already"},
	} {
		if got := row.command.objection(row.topic); !strings.Contains(got, row.want) || row.want == "" && got != "" {
			t.Errorf("%+v of %s: %q, want %q", row.command, row.topic.State, got, row.want)
		}
	}
	unconfirmed := mirrored("SYNC", "SYNC until T, unconfirmed since U")
	unconfirmed.Unconfirmed = true
	if got := (&mirrorsCommand{Switchover: true}).objection(unconfirmed); !strings.Contains(got, "refused") {
		t.Errorf("a switchover from a silent source: %q", got)
	}
	if got := (&mirrorsCommand{Failover: true}).objection(unconfirmed); got != "" {
		t.Errorf("a failover from a silent source: %q", got)
	}
}

// Zero RPO is a promise of armed partitions alone; a failover of others goes ahead, and says so.
func TestAFailoverWarnsOfPartitionsThatDidNotGate(t *testing.T) {
	partition := func(armed bool, lag int64) messages.DescribeClusterMirrorsResponsePartition {
		p := messages.NewDescribeClusterMirrorsResponsePartition()
		p.Armed, p.Lag = armed, lag
		return p
	}
	for _, row := range []struct {
		topic messages.DescribeClusterMirrorsResponseTopic
		want  string
	}{
		{mirrored("SYNC", "SYNC", partition(true, 0), partition(true, 3)), ""},
		{mirrored("STOPPING", "STOPPING (epoch)", partition(false, 0)), ""},
		{mirrored("ARMING", "ARMING 1 of 3", partition(true, 9), partition(false, 4), partition(false, 0)),
			"was ARMING 1 of 3: 2 of 3 partitions did not gate acks (4 records behind"},
		{mirrored("ASYNC", "ASYNC", partition(false, -1)), "1 of 1 partitions did not gate acks (how far behind is not known"},
	} {
		if got := ungated(row.topic); !strings.Contains(got, row.want) || row.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", row.topic.State, got, row.want)
		}
	}
}

func TestASourceSaysWhoTakesItsWrites(t *testing.T) {
	for _, row := range []struct {
		source messages.DescribeClusterMirrorsResponseSourceTopic
		want   string
	}{
		{messages.DescribeClusterMirrorsResponseSourceTopic{Standing: "PRIMARY"}, ""},
		{messages.DescribeClusterMirrorsResponseSourceTopic{Standing: "PRIMARY", Text: "timed out: x"}, "not switched over: timed out: x"},
		{messages.DescribeClusterMirrorsResponseSourceTopic{Standing: "FENCED", SuccessorCluster: "dc2", SuccessorEra: 3, Text: "partition 0 ends at 9"}, "producers wait while cluster dc2 takes over as era 3: partition 0 ends at 9"},
		{messages.DescribeClusterMirrorsResponseSourceTopic{Standing: "SUPERSEDED", SuccessorCluster: "dc2", SuccessorEra: 3}, "cluster dc2 took over by a failover (era 3); --release-sync --force takes the writes back"},
		{messages.DescribeClusterMirrorsResponseSourceTopic{Standing: "PRIMARY", IgnoredClaims: 2}, "2 claims of an era by clusters that may not make them were ignored"},
	} {
		if got := sourceNote(row.source); got != row.want {
			t.Errorf("%+v: %q, want %q", row.source, got, row.want)
		}
	}
}

// What producers wait for, since when, and the remedy stay readable beside a short topic name, and beside a second mirror.
func TestAMirrorThatHoldsAcksIsNamedWithItsRemedy(t *testing.T) {
	held := messages.DescribeClusterMirrorsResponseRegistration{ClusterId: "dc2", MirrorName: "dr", Registered: true, HoldsMs: 8300, SilentMs: 8300}
	other := messages.DescribeClusterMirrorsResponseRegistration{ClusterId: "dc3", MirrorName: "far", Registered: true, HoldsMs: -1, SilentMs: 100}
	tb := sourcesTable()
	addSource(&tb, messages.DescribeClusterMirrorsResponseSourceTopic{TopicName: "orders", Standing: "PRIMARY",
		Registrations: []messages.DescribeClusterMirrorsResponseRegistration{held, other}})
	var out strings.Builder
	tb.print(&out)
	want := "dc2/dr gated, holds acks for 8.3s, silent for 8.3s: repair cluster dc2, or --release-sync --mirror dr (ends zero RPO), dc3/far gated"
	if got := strings.Join(strings.Fields(out.String()), " "); !strings.HasSuffix(got, want) {
		t.Errorf("%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > screen+1 {
			t.Errorf("%d characters: %q", len(line), line)
		}
	}
}

// Nobody waits at a topic that was taken over, and a plain release of it would be refused: no such remedy is named.
func TestATopicThatWasTakenOverHoldsNobody(t *testing.T) {
	tb := sourcesTable()
	addSource(&tb, messages.DescribeClusterMirrorsResponseSourceTopic{TopicName: "orders", Standing: "SUPERSEDED", SuccessorCluster: "dc2", SuccessorEra: 1,
		Registrations: []messages.DescribeClusterMirrorsResponseRegistration{{ClusterId: "dc2", MirrorName: "dr", Registered: true, HoldsMs: 8300, SilentMs: -1}}})
	var out strings.Builder
	tb.print(&out)
	if got := out.String(); strings.Contains(got, "holds acks") || !strings.Contains(got, "dc2/dr gated") {
		t.Errorf("%s", got)
	}
}

// What the cluster warns of does not hide what this tool knows.
func TestBothWarningsAreShown(t *testing.T) {
	for _, row := range [][3]string{{"", "", ""}, {"a", "", "a"}, {"", "was ASYNC", "was ASYNC"}, {"a", "was ASYNC", "a; it was ASYNC"}} {
		if got := both(row[0], row[1]); got != row[2] {
			t.Errorf("%q and %q: %q", row[0], row[1], got)
		}
	}
}

// --wait says that topics are SYNC; one that is PARTIAL or UNCONFIRMED promises nothing, and is waited for.
func TestWaitEndsWhereZeroRPOIsConfirmed(t *testing.T) {
	topic := func(kind int8, phase string, partial, unconfirmed bool) messages.DescribeClusterMirrorsResponseTopic {
		d := mirrored(phase, phase)
		d.EffectiveMirrorType, d.Partial, d.Unconfirmed = kind, partial, unconfirmed
		return d
	}
	for _, row := range []struct {
		name  string
		topic messages.DescribeClusterMirrorsResponseTopic
		kind  int8
		want  bool
	}{
		{"sync", topic(admin.Sync, "SYNC", false, false), admin.Sync, true},
		{"partial", topic(admin.Sync, "SYNC", true, false), admin.Sync, false},
		{"unconfirmed", topic(admin.Sync, "SYNC", false, true), admin.Sync, false},
		{"arming", topic(admin.Async, "ARMING", false, false), admin.Sync, false},
		{"async", topic(admin.Async, "ASYNC", false, false), admin.Async, true},
		{"demoting", topic(admin.Async, "DEMOTING", false, false), admin.Async, false},
		{"not begun", topic(admin.Async, "", false, false), admin.Async, false},
		{"still sync", topic(admin.Sync, "SYNC", false, false), admin.Async, false},
	} {
		if got := settled(row.topic, row.kind); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// A script that looks at "error" must not take a partition that is about to be fetched for a failed command.
func TestOnlyTheErrorOfAWholeTopicIsTheErrorOfACommand(t *testing.T) {
	for text, want := range map[string]string{"diverged": "diverged", "partition 0: the source says: not yet": "", "": ""} {
		topic := mirrored("SYNC", "SYNC")
		topic.ErrorMessage = &text
		if got := ofTopic(topic); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
