package controller

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhichValueOfASettingCounts(t *testing.T) {
	type v = map[string]string
	for _, c := range []struct {
		name   string
		layers Layers
		want   string // value: name=value of each that was found, and its place
	}{
		{"retention.ms", Layers{}, "604800000: log.retention.hours=168(5)"},
		{"retention.ms", Layers{Static: v{"log.retention.hours": "2"}}, "7200000: log.retention.hours=2(4) log.retention.hours=168(5)"},
		{"retention.ms", Layers{Static: v{"log.retention.hours": "-1"}}, "-1: log.retention.hours=-1(4) log.retention.hours=168(5)"},
		{"retention.ms", Layers{Static: v{"log.retention.hours": "2", "log.retention.minutes": "1"}}, "60000: log.retention.minutes=1(4) log.retention.hours=2(4) log.retention.hours=168(5)"},
		{"retention.ms", Layers{Cluster: v{"log.retention.ms": "9"}, Static: v{"log.retention.ms": "8", "log.retention.minutes": "1"}}, "9: log.retention.ms=9(3) log.retention.ms=8(4) log.retention.minutes=1(4) log.retention.hours=168(5)"},
		{"retention.ms", Layers{Topic: v{"retention.ms": "5"}, Broker: v{"log.retention.ms": "6"}, Cluster: v{"log.retention.ms": "7"}}, "5: retention.ms=5(1) log.retention.ms=6(2) log.retention.ms=7(3) log.retention.hours=168(5)"},
		{"retention.ms", Layers{Static: v{"retention.ms": "5"}}, "5: retention.ms=5(4) log.retention.hours=168(5)"},
		{"segment.ms", Layers{Static: v{"log.roll.hours": "3"}}, "10800000: log.roll.hours=3(4) log.roll.hours=168(5)"},
		{"flush.ms", Layers{}, "9223372036854775807: log.flush.scheduler.interval.ms=9223372036854775807(5)"},
		{"max.message.bytes", Layers{Broker: v{"message.max.bytes": "5000"}}, "5000: message.max.bytes=5000(2) message.max.bytes=1048588(5)"},
		{"compression.type", Layers{Cluster: v{"compression.type": "zstd"}}, "zstd: compression.type=zstd(3) compression.type=producer(5)"},
		{"min.insync.replicas", Layers{}, ": "},
		{"log.retention.ms", Layers{}, ": "},
		{"log.retention.ms", Layers{Static: v{"log.retention.hours": "2"}}, ": "},
		{"log.retention.ms", Layers{Cluster: v{"log.retention.ms": "9"}}, "9: log.retention.ms=9(3) log.retention.hours=168(5)"},
		{"log.retention.hours", Layers{}, "168: log.retention.hours=168(5)"},
		{"log.cleaner.backoff.ms", Layers{Broker: v{"log.cleaner.backoff.ms": "1"}}, "1: log.cleaner.backoff.ms=1(2) log.cleaner.backoff.ms=15000(5)"},
	} {
		s, known := FindSetting(c.name)
		if !known {
			t.Fatal(c.name)
		}
		value, found := s.Find(c.layers)
		var all []string
		for _, f := range found {
			all = append(all, fmt.Sprintf("%s=%s(%d)", f.Name, f.Value, f.In))
		}
		if got := value + ": " + strings.Join(all, " "); got != c.want {
			t.Errorf("%s in %v:\n got %s\nwant %s", c.name, c.layers, got, c.want)
		}
	}
}
