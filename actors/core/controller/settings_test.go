package controller

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files")

func TestSettingsTable(t *testing.T) {
	var b strings.Builder
	for _, s := range Settings {
		scope := ""
		for i, word := range []string{"topic", "broker", "running", "all running"} {
			if s.Scope&(1<<i) != 0 {
				scope += "+" + word
			}
		}
		scope = scope[1:]
		fmt.Fprintf(&b, "%s | %s | %s | %q | %s\n", s.Name, s.Type, scope, s.Default, s.Meaning)
		if s.Default != "" {
			if text := s.Check(s.Default); text != "" {
				t.Errorf("the default of %s: %s", s.Name, text)
			}
		}
		for _, d := range s.Defaults {
			if of, known := FindSetting(d.Name); !known || of.Scope&BrokerScope == 0 {
				t.Errorf("%s goes by %s, which is no setting of brokers", s.Name, d.Name)
			}
		}
		if s.Meaning == "" || strings.Contains(s.Meaning, "\n") {
			t.Errorf("%s needs one line of meaning", s.Name)
		}
	}
	if !slices.IsSortedFunc(Settings, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table is not sorted by name")
	}
	const golden = "testdata/settings.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		t.Errorf("%s differs (%v); run go test ./actors/core/controller -update and look at the diff", golden, err)
	}
}

func TestSettingsRefuseWhatKafkaRefuses(t *testing.T) {
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"cleanup.policy", "compact,delete", true}, {"cleanup.policy", "Compact", false}, {"cleanup.policy", "", true},
		{"min.insync.replicas", "0", false}, {"min.insync.replicas", "2", true}, {"min.insync.replicas", "two", false},
		{"retention.ms", "9223372036854775807", true}, {"retention.ms", "9223372036854775808", false},
		{"segment.bytes", "2147483648", false}, {"unclean.leader.election.enable", "yes", false},
		{"min.cleanable.dirty.ratio", "NaN", false}, {"min.cleanable.dirty.ratio", "0.7", true}, {"min.cleanable.dirty.ratio", "1.5", false},
		{"compression.type", "zstd", true}, {"compression.type", "ZSTD", false}, {"lockstep.sync.min.class", "proven", true}, {"lockstep.sync.min.class", "PROVEN", false}, {"lockstep.weak.acks", "allow", true}, {"lockstep.weak.acks", "never", false},
		{"remote.storage.enable", "true", false}, {"remote.storage.enable", "false", true}, {"local.retention.ms", "-2", true}, {"local.retention.ms", "-3", false}, {"remote.log.copy.disable", "true", true},
		{"mirror.support.unclean.leader.election", "true", true}, {"leader.replication.throttled.replicas", "*", true},
		{"leader.replication.throttled.replicas", "", true}, {"follower.replication.throttled.replicas", "0:1,11:2", true}, {"follower.replication.throttled.replicas", "0:1,2", false}, {"leader.replication.throttled.replicas", "0:-1", false},
	} {
		if text := CheckTopicSetting(c.name, c.value); (text == "") != c.ok || !c.ok && !strings.Contains(text, c.name) {
			t.Errorf("%s=%q: %q", c.name, c.value, text)
		}
	}
}
