package admin

import (
	"testing"

	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func TestEveryAPIOfOurOwnCanBeSent(t *testing.T) {
	v := Versions()
	for _, a := range messages.APIs() {
		if !a.Own {
			continue
		}
		if got, ok := v.LookupMaxKeyVersion(a.Key); !ok || got != a.Max {
			t.Errorf("%s (key %d): kgo would send version %d, %v; we serve up to %d", a.Name, a.Key, got, ok, a.Max)
		}
	}
}

func TestARefusalReadsAsNameAndReason(t *testing.T) {
	reason := "mirror dr does not exist"
	if got := refusal(int16(perr.UnknownClusterMirror), &reason).Error(); got != "UNKNOWN_CLUSTER_MIRROR: "+reason {
		t.Errorf("got %q", got)
	}
	if refusal(0, &reason) != nil {
		t.Error("code 0 is no refusal")
	}
}
