package retention

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/actors/core"
)

func TestWhatWasWrittenLongAgo(t *testing.T) {
	var i Idle
	const after = 160
	var got []string
	for now := int64(0); now <= 500; now += 5 {
		i.Note(now, after, core.Offset(min(now, 300))) // an offset for each instant until 300
		if now%100 == 0 {
			got = append(got, fmt.Sprint(now, ":", i.Before(now, after)))
		}
		before := i.Before(now, after)
		if before > 0 && now-int64(before) < after || int64(before) < min(now, 300)-after-2*after/fineness {
			t.Errorf("at %d what is below %d is idle", now, before)
		}
		if len(i.marks) > fineness+2 {
			t.Fatalf("at %d there are %d marks", now, len(i.marks))
		}
	}
	if want := "0:0 100:0 200:40 300:140 400:240 500:300"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}
