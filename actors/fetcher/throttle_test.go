package fetcher

import (
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
)

func TestAThrottleFillsWithTimeUpToItsBurst(t *testing.T) {
	now := time.Unix(1000, 0)
	th := newThrottle(1000)
	if n := th.room(now); n != 1000 {
		t.Fatalf("at first %d", n)
	}
	th.charge(3000, now)
	if n, d := th.room(now), th.opens(now); n != 0 || d < 2*time.Second || d > 2*time.Second+10*time.Millisecond {
		t.Fatalf("in debt: room %d, opens in %v", n, d)
	}
	if n := th.room(now.Add(2500 * time.Millisecond)); n != 500 {
		t.Fatalf("2.5 s later %d", n)
	}
	if n := th.room(now.Add(time.Hour)); n != 1000 {
		t.Fatalf("after an hour %d: what was not used is not saved up", n)
	}
	th.charge(5000, now) // the clock of another goroutine is behind
	if n := th.room(now.Add(time.Hour)); n != 0 {
		t.Fatalf("%d", n)
	}
	if newThrottle(0).room(now) < 1<<40 {
		t.Fatal("no rate bounds nothing")
	}
}

// F51: a partition that may not read goes on reporting its floor and hears of its gate.
func TestAThrottledMirrorReportsAndIsAnswered(t *testing.T) {
	r := newRig(t, 1, nil)
	r.config["replication.throttled.rate"] = "800"
	r.home.add(r.id(0), 1)
	r.mirror(1, mirror.FetchSync)
	begin := time.Now()
	for i := range 4 {
		r.peer.produce(0, 60, false) // some 500 bytes
		r.upTo(0, core.Offset(60*(i+1)))
	}
	if d := time.Since(begin); d < 700*time.Millisecond {
		t.Errorf("4 times 500 bytes in %v at 800 bytes a second", d)
	}
	r.peer.change(func() {
		held := 0
		for _, q := range r.peer.fetches {
			if !q.NoRecords {
				continue
			}
			if held++; !q.Sync || len(q.ISR) == 0 {
				t.Errorf("a throttled fetch reports nothing: %+v", q)
			}
		}
		if held == 0 {
			t.Error("no fetch was sent while throttled")
		}
	})
	if n := r.fetchers.Counts().Throttled; n == 0 {
		t.Error("nobody counted what was held back")
	}
}

// A source that speaks only the KIP would answer with records whatever it is asked: it is not asked, and nothing starves.
func TestAThrottledMirrorOfAPlainSourceWaits(t *testing.T) {
	r := newRig(t, 1, nil)
	r.config["replication.throttled.rate"] = "800"
	r.peer.change(func() { r.peer.logs[0].plain = true })
	r.home.add(r.id(0), 1)
	r.mirror(1, mirror.FetchAsync)
	begin := time.Now()
	for i := range 4 {
		r.peer.produce(0, 60, true)
		r.upTo(0, core.Offset(60*(i+1)))
	}
	if d := time.Since(begin); d < 700*time.Millisecond {
		t.Errorf("4 times 500 bytes in %v at 800 bytes a second", d)
	}
	r.peer.change(func() {
		for _, q := range r.peer.fetches {
			if q.NoRecords {
				t.Error("a plain source was asked for no records, which it cannot do")
			}
		}
	})
}
