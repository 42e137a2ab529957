package mirror

import (
	"strings"
	"testing"

	"lockstep/protocol/perr"
)

func TestAnOldSourceThatDoesNotObeyIsShown(t *testing.T) {
	d := synced(t)
	d.leave(VerbFailover)
	d.ended(SupersedeAnswered{Code: perr.InvalidSyncRegistration, Text: "released (release 3)"})
	d.local(100)
	if got := d.describe(); got.Heard != HeardRefused || !strings.Contains(got.State, "goes on taking writes") || !strings.Contains(got.ErrorMessage, "release 3") {
		t.Fatalf("described %+v", got)
	}
}

func TestAFailoverFromALivingSourceWarnsOfSwitchover(t *testing.T) {
	if got := synced(t).leave(VerbFailover); !strings.Contains(got.Warning, "--switchover loses nothing") {
		t.Fatalf("answered %+v", got)
	}
}

// What a source that lives acknowledged without a gate is lost whatever its acks were, and a switchover would be refused.
func TestAFailoverOfATopicThatIsNotSyncPromisesNoSwitchover(t *testing.T) {
	got := registering(t).leave(VerbFailover)
	if strings.Contains(got.Warning, "acks=0 or 1") || !strings.Contains(got.Warning, "this copy has not read is lost") || !strings.Contains(got.Warning, "once the topic is SYNC") {
		t.Fatalf("answered %+v", got)
	}
}

// A topic that was never registered is taken over without telling anybody: there is no gate and nobody who would obey.
func TestAFailoverOfAnUnregisteredTopicTellsNobody(t *testing.T) {
	d := started(t, TypeAsync)
	d.leave(VerbFailover)
	d.local(100)
	if d.phase(Stopped); len(all[SendSupersede](d.all)) != 0 || d.describe().Telling {
		t.Fatal("told somebody")
	}
}
