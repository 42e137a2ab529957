package demo

import (
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/acked"
	"lockstep/protocol/batch"
)

func TestTheSeedDecidesEveryRun(t *testing.T) {
	one, again, other := Command{Seed: 7, Load: 3 * time.Second}, Command{Seed: 7, Load: 3 * time.Second}, Command{Seed: 8, Load: 3 * time.Second}
	loads := map[time.Duration]bool{}
	destinations := 0
	for i := 1; i <= 20; i++ {
		p := one.plan(i)
		if p != again.plan(i) {
			t.Errorf("run %d of seed 7 is %+v, then %+v", i, p, again.plan(i))
		}
		if p.load == other.plan(i).load {
			t.Errorf("run %d waits %s with seeds 7 and 8", i, p.load)
		}
		if p.load < time.Second || p.load >= 3*time.Second {
			t.Errorf("run %d kills after %s, outside a third to all of --load", i, p.load)
		}
		if p.destinationDies {
			destinations++
		}
		loads[p.load] = true
	}
	if destinations != 5 || len(loads) != 20 {
		t.Errorf("20 runs kill %d destinations (want every fourth) at %d different instants", destinations, len(loads))
	}
	if p := (&Command{Seed: 7}).plan(1); p.load != 0 {
		t.Errorf("--load=0 waits %s", p.load)
	}
}

func TestTheResultTable(t *testing.T) {
	var out strings.Builder
	printResults(&out, 42, []result{
		{acked.Verdict{Acked: 1000, Found: 1003}, 1, "source", 1500 * time.Microsecond, 9 * time.Millisecond, 750 * time.Millisecond},
		{acked.Verdict{Acked: 500, Found: 498, Lost: 2, Duplicated: 1}, 2, "destination", 0, 0, 0},
	})
	want := []string{
		" RUN DIED             ACKED      FOUND   LOST  TWICE    ACK P50    ACK P99  FIRST WRITE  SEED",
		"   1 source            1000       1003      0      0     1.5 ms     9.0 ms     750.0 ms  42",
		"   2 destination        500        498      2      1          -          -            -  42",
		" all                   1500       1501      2      1                                     ",
	}
	got := strings.Split(out.String(), "\n")
	for i, line := range want {
		if got[i] != line {
			t.Errorf("line %d is\n%q, want\n%q", i+1, got[i], line)
		}
	}
	if out.Reset(); len(got) != len(want)+3 {
		t.Errorf("%d lines, want the table and two lines of explanation", len(got)-1)
	}
	if printResults(&out, 42, []result{{run: 1, died: "source"}}); strings.Contains(out.String(), "all") {
		t.Errorf("one run has a line of totals:\n%s", out.String())
	}
}

func TestTheProbeIsAPlainBatchThatABrokerTakes(t *testing.T) {
	raw := oneRecord([]byte("probe"))
	b, bad := batch.Produced(raw, batch.Rules{Version: 14, MaxBytes: 1 << 20})
	if bad != nil {
		t.Fatal(bad)
	}
	if b.Records != 1 || b.ProducerID != -1 || b.BaseSequence != -1 {
		t.Errorf("the batch has %d records, producer %d, sequence %d", b.Records, b.ProducerID, b.BaseSequence)
	}
	raw[len(raw)-1] ^= 1
	if _, bad := batch.Produced(raw, batch.Rules{Version: 14}); bad == nil {
		t.Error("the CRC does not cover the record")
	}
}

func TestDurationsReadAsMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "-", 1234567 * time.Nanosecond: "1.2 ms", 2 * time.Second: "2000.0 ms"} {
		if got := ms(d); got != want {
			t.Errorf("%s reads %q, want %q", d, got, want)
		}
	}
}
