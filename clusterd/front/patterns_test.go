package front

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Patterns of a stop are kept as exclusions and matched with every name from then on, and were not looked at. What was
// compiled for requests was kept for ever.
func TestPatternsOfARequestAreChecked(t *testing.T) {
	h := newHouse(t, 1)
	for _, bad := range [][]string{{"("}, {strings.Repeat("(?:.?){1000}", 9)}, make([]string, maxPatterns+1)} {
		stop := messages.NewStopMirrorTopicsRequest()
		stop.MirrorName, stop.Patterns = "dr", bad
		if out := h.raw(1, &stop, 0).(*messages.StopMirrorTopicsResponse); perr.Code(out.ErrorCode) != perr.InvalidRequest || out.ErrorMessage == nil || !strings.Contains(*out.ErrorMessage, "pattern") {
			t.Errorf("stop by %d patterns: %v", len(bad), perr.Code(out.ErrorCode))
		}
		if why := checkPatterns(nil, bad); !strings.Contains(why, "pattern") {
			t.Errorf("%d patterns: %q", len(bad), why)
		}
	}
	if why := checkPatterns([]string{"orders.*"}, []string{"a|b"}); why != "" {
		t.Error(why)
	}
	for i := range 3 * maxCompiled {
		matchesAny([]string{fmt.Sprint("x", i, ".*")}, "orders")
	}
	patterns.Lock()
	defer patterns.Unlock()
	if n := len(patterns.compiled); n > maxCompiled {
		t.Errorf("%d are kept", n)
	}
}
