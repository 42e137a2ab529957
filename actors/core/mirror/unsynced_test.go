package mirror

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// R14: a page cache on either side proves nothing, and no such claim is called zero RPO, restart or not.
func TestAPageCacheOnEitherSideIsNotProven(t *testing.T) {
	says := func(d *site, class Class, rpo bool) {
		t.Helper()
		got := d.describe()
		zero := got.Partitions[0].ZeroRPOFrom != core.Unknown
		if got.Class != class || zero != (class == ClassProven) || got.ZeroRPO != rpo || strings.Contains(got.State, "durability=os") != (class == ClassUnsynced) {
			t.Errorf("class %s, zero RPO from %d, now %v: %s", got.Class, got.Partitions[0].ZeroRPOFrom, got.ZeroRPO, got.State)
		}
	}
	d := synced(t)
	promised(d, 10e9, true)
	says(d, ClassProven, true)
	d.report(0, func(r *ReportProgress) { r.Stated, r.Unsynced = true, true })
	says(d, ClassUnsynced, false)
	d.restart()
	says(d, ClassUnsynced, false)
	d.report(0, func(r *ReportProgress) { r.Stated, r.Unsynced = true, false })
	says(d, ClassProven, false)
	d.do(Resume{Defaults: Defaults{Unsynced: true}})
	says(d, ClassUnsynced, false)
}

// lockstep.sync.min.class=proven refuses them: before a Register is sent, and where a source changes while it is claimed.
func TestProvenRefusesAPageCache(t *testing.T) {
	d := synced(t)
	d.do(ConfigureMirror{Config: map[string]string{"bootstrap.servers": "x:1", MinClassSetting: "proven"}})
	d.report(0, func(r *ReportProgress) { r.Stated, r.Unsynced = true, true })
	sent := last[SendUnregister](t, d.effects)
	got := d.describe()
	if got.Effective != TypeAsync || got.Phase == Sync {
		t.Fatalf("still claimed: %+v", got)
	}
	d.do(UnregisterAnswered{Topic: topicA, Generation: sent.Generation, Code: perr.None})
	for p := int32(0); p < partitions; p++ {
		d.report(p, func(r *ReportProgress) { r.Stated, r.Unsynced = true, true })
	}
	d.tick(60e9)
	if got := d.describe(); got.Phase != CatchingUp || !strings.Contains(got.ErrorMessage, "durability=os") || !strings.Contains(got.ErrorMessage, "--durability fsync") {
		t.Fatalf("%s: %q", got.Phase, got.ErrorMessage)
	}
}
