package mirror

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

var data2 = core.Incarnation{2}

// diverged is a SYNC topic whose partition 1 may not be cut to its source, with its registration taken back.
func diverged(t *testing.T) *site {
	d := synced(t)
	d.do(ReportDiverged{ID: id(1), Session: d.topic().Session, Text: "the source lost data"})
	d.unregistered()
	d.phase(Diverged)
	return d
}

func (d *site) recover(accept bool) TopicResult {
	d.t.Helper()
	return last[TopicsAnswered](d.t, d.do(RecoverTopics{Topics: []core.TopicID{topicA}, AcceptSource: accept, Fresh: data2})).Topics[0]
}

// A diverged topic is cut to its source only when an operator says so, once, and under another data incarnation; what
// was promised of the old data is over (R2, R11).
func TestADivergedTopicFollowsItsSourceOnAnOperatorsWordOnly(t *testing.T) {
	d := diverged(t)
	if got := d.describe().ErrorMessage; !strings.Contains(got, "the source lost data; --stop") || !strings.Contains(got, "--accept-source") {
		t.Errorf("it is described as %q", got)
	}
	if got := d.recover(false); got.Code != perr.InvalidClusterMirrorState || !strings.Contains(got.Text, "--accept-source") || !strings.Contains(got.Text, "--stop") {
		t.Fatalf("without the word: %+v", got)
	}
	d.phase(Diverged)
	session := d.topic().Session
	if got := d.recover(true); got.Code != perr.None || !strings.Contains(got.Warning, "quarantine") {
		t.Fatalf("with the word: %+v", got)
	}
	d.phase(CatchingUp)
	accepted := func() []int32 { t.Helper(); return last[FetchTopic](t, d.all).Accept }
	if f := last[FetchTopic](t, d.all); f.Session != session+1 || f.Incarnation != data2 || len(f.Accept) != 1 || f.Accept[0] != 1 {
		t.Fatalf("fetched as %+v", f)
	}
	if topic := d.topic(); topic.armed() != 0 || topic.Epoch != 0 {
		t.Fatal("what was armed with the old data still counts")
	}
	d.restart()
	if len(accepted()) != 1 {
		t.Fatal("a restart forgets the operator's word")
	}
	d.progress(0, 10, 10)
	d.report(1, func(r *ReportProgress) { r.Adopted = 4 })
	if len(accepted()) != 1 {
		t.Fatal("the word is used up before the partition stands under its source")
	}
	d.progress(1, 10, 10)
	if len(accepted()) != 0 {
		t.Fatal("the word counts for the source's next loss, too")
	}
	d.do(ReportDiverged{ID: id(1), Session: d.topic().Session, Text: "again"})
	d.phase(Diverged)
}

// The other way out keeps this copy (C8: stop is legal from every state).
func TestADivergedTopicCanBeKept(t *testing.T) {
	d := diverged(t)
	got := last[TopicsAnswered](t, d.do(StopTopics{Topics: []core.TopicID{topicA}})).Topics[0]
	if stopFromAnywhere && got.Code != perr.None {
		t.Fatalf("stop was answered %+v", got)
	}
	d.phase(Stopping)
}
