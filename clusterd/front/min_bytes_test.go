package front

import (
	"strings"
	"testing"
	"time"
)

// A fetch that its own limits fill has as much as it can get: a consumer whose fetch.min.bytes is its
// max.partition.fetch.bytes waited for fetch.max.wait.ms between any two answers, however far behind it was, because
// batches go out whole and seldom fill a limit exactly (compat-F04).
func TestALimitThatIsReachedIsNotWaitedFor(t *testing.T) {
	h := newHouse(t, 1)
	a, b, few := h.fill("a", 3, 1000), h.fill("b", 3, 1000), h.fill("few", 1, 1000)
	one := int32(len(oneRecord(plain, strings.Repeat("x", 1000))))
	const patience = 600
	for _, c := range []struct {
		name     string
		max, min int32
		asks     []ask
		want     int
		waits    bool
	}{
		{"the limit of a partition, one batch and a half", 1 << 20, one + one/2, []ask{{topic: a, maxBytes: one + one/2}}, int(one), false},
		{"the limit of the answer, one batch and a half", one + one/2, one + one/2, []ask{{topic: a}}, int(one), false},
		{"a minimum beyond the limit of the answer", one, 1 << 30, []ask{{topic: a}}, int(one), false},
		{"two partitions, each at its limit", 1 << 20, 3 * one, []ask{{topic: a, maxBytes: one + one/2}, {topic: b, maxBytes: one + one/2}}, int(2 * one), false},
		{"one partition at its limit is not the minimum", 1 << 20, 3 * one, []ask{{topic: a, maxBytes: one + one/2}, {topic: few}}, int(2 * one), true},
		{"no limit is reached", 1 << 20, 1 << 19, []ask{{topic: a}}, int(3 * one), true},
	} {
		r := fetchRequest(c.max, c.asks...)
		r.MinBytes, r.MaxWaitMs = c.min, 20_000
		if c.waits {
			r.MaxWaitMs = patience
		}
		began, total := time.Now(), 0
		for _, p := range h.fetch(r, 13) {
			total += len(p.Records)
		}
		took := time.Since(began)
		if total != c.want || took > 10*time.Second || c.waits && took < patience*9/10*time.Millisecond {
			t.Errorf("%s: %d bytes after %v, want %d", c.name, total, took, c.want)
		}
	}
}
