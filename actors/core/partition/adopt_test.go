package partition

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/batch"
)

// An answer that was on its way while a newer epoch was adopted would put discarded records behind the
// truncation.
func TestAnswersAreFenced(t *testing.T) { // R3, A1
	next := func() []batch.Batch { return []batch.Batch{record(9).Stamped(2, 7)} }
	cases := map[string]struct {
		answer AppendMirrored
		want   MirrorOutcome
	}{
		"the current one":            {AppendMirrored{Session: 1, SourceEpoch: 7, Batches: next()}, MirrorOK},
		"of an older source epoch":   {AppendMirrored{Session: 1, SourceEpoch: 6, Batches: next()}, MirrorStale},
		"of an epoch not adopted":    {AppendMirrored{Session: 1, SourceEpoch: 8, Batches: next()}, MirrorStale},
		"of another run":             {AppendMirrored{Session: 1, SourceEpoch: 7, SourceIncarnation: core.Incarnation{9}, Batches: next()}, MirrorStale},
		"asked in an older session":  {AppendMirrored{Session: 0, SourceEpoch: 7, Batches: next()}, MirrorStale},
		"a gap":                      {AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{record(9).Stamped(3, 7)}}, MirrorRejected},
		"an overlap":                 {AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{record(9).Stamped(1, 7)}}, MirrorRejected},
		"an epoch that goes back":    {AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{record(9).Stamped(2, 3)}}, MirrorRejected},
		"a batch above its source":   {AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{record(9).Stamped(2, 8)}}, MirrorStale},
		"the source's HW, no batch":  {AppendMirrored{Session: 1, SourceEpoch: 7, SourceHW: 2}, MirrorOK},
		"HW of an epoch not adopted": {AppendMirrored{Session: 1, SourceEpoch: 8, SourceHW: 2}, MirrorStale},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := mirrored(t, 6, 7).do(c.answer)
			if got := b.answer(); got.Outcome != c.want {
				t.Fatalf("outcome %d (%s), want %d", got.Outcome, got.Text, c.want)
			}
			grown := c.want == MirrorOK && len(c.answer.Batches) > 0
			if want := core.Offset(2); (b.s.leo != want) != grown {
				t.Fatalf("LEO %d", b.s.leo)
			}
			if _, tracked := told[highwater.TrackSourceHW](b); tracked != (c.want == MirrorOK) {
				t.Fatalf("source HW was used: %v", tracked)
			}
		})
	}
}

func TestMirroredBatchesAreByteIdentical(t *testing.T) { // I21
	sent := client(1<<40, 3, 17, 4).Stamped(0, 6)
	want := string(sent.Bytes)
	b := mirrored(t).do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{sent}})
	if got := b.entries[len(b.entries)-1].Payload; string(got) != want {
		t.Fatal("the batch was changed")
	}
}

func TestANewLeaderAdoptsBeforeItAppends(t *testing.T) { // R3
	b := mirrored(t, 7).do(Lead{Epoch: 101, Role: Mirroring, Session: 2, Replicas: []core.ReplicaID{1, 2}})
	b.do(AppendMirrored{Session: 2, SourceEpoch: 7, Batches: []batch.Batch{record(9).Stamped(1, 7)}})
	if b.answer().Outcome != MirrorStale || b.s.leo != 1 {
		t.Fatalf("appended without the divergence check: %+v", b.answer())
	}
}

// truncation is a mirrored log of six records, epochs 5 5 6 6 7 7, that is told where the common history
// ends. H is 2 and R is 4, unless said otherwise.
type truncation struct {
	name  string
	adopt AdoptSource
	h, r  core.Offset
	leo   core.Offset
	want  MirrorOutcome
	rearm bool
}

func TestWhereATruncationMayCut(t *testing.T) { // R11, F43
	ends := func(epoch core.LeaderEpoch, offset core.Offset) AdoptSource {
		return AdoptSource{EndEpoch: epoch, EndOffset: offset, LastUnclean: core.NoEpoch, Stated: true}
	}
	unclean := func(a AdoptSource) AdoptSource { a.LastUnclean = 8; return a }
	plain := func(a AdoptSource) AdoptSource { a.Stated = false; return a }
	follows := func(a AdoptSource) AdoptSource { a.FollowUnclean = true; return unclean(a) }
	accepted := func(a AdoptSource) AdoptSource { a.Accept = true; return unclean(a) }
	differs := func(a AdoptSource) AdoptSource { a.Differs = true; return a }
	cases := []truncation{
		{name: "nothing to cut", adopt: ends(7, 9), leo: 6},
		{name: "a clean source, above the floor", adopt: ends(7, 5), leo: 5},
		{name: "a clean source that we are merely ahead of", adopt: ends(6, 3), leo: 3}, // P6
		{name: "unclean, but above every floor", adopt: unclean(ends(6, 4)), leo: 4},
		{name: "unclean, below a floor", adopt: unclean(ends(6, 3)), leo: 6, want: MirrorDiverged},                    // P7
		{name: "clean by its own word, below what it had committed", adopt: ends(5, 1), leo: 6, want: MirrorDiverged}, // P8
		{name: "an unclean epoch we have adopted since is old news",
			adopt: func() AdoptSource { a := ends(6, 3); a.LastUnclean = 7; return a }(), leo: 3},
		{name: "the setting that always follows", adopt: follows(ends(5, 1)), leo: 1, rearm: true},
		{name: "an operator has accepted the source", adopt: accepted(ends(5, 1)), leo: 1, rearm: true},
		{name: "a plain peer, above the floor", adopt: plain(ends(6, 4)), leo: 4},
		{name: "a plain peer, below the floor", adopt: plain(ends(6, 3)), leo: 3, rearm: true},
		{name: "a plain peer, below what it had committed", adopt: plain(ends(5, 1)), leo: 6, want: MirrorDiverged},
		{name: "a clean source, shorter in the epoch we adopted from it",
			adopt: func() AdoptSource { a := ends(7, 5); a.SourceEpoch = 7; return a }(), leo: 6, want: MirrorDiverged}, // P8
		{name: "a source that knows nothing of ours", adopt: ends(core.NoEpoch, 0), leo: 6, want: MirrorDiverged},
		{name: "another record under our newest epoch", adopt: differs(ends(7, 9)), leo: 6, want: MirrorDiverged},
		{name: "another record below what would be cut", adopt: differs(ends(7, 5)), leo: 6, want: MirrorDiverged},
		{name: "another record, and the setting that always follows", adopt: differs(follows(ends(7, 9))), leo: 0, rearm: true},
		{name: "another record, and an operator has accepted the source", adopt: differs(accepted(ends(7, 9))), leo: 0, rearm: true},
		{name: "an epoch we do not have", h: 1, adopt: ends(4, 6), leo: 6, want: MirrorDiverged},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := mirrored(t, 5, 5, 6, 6, 7, 7)
			b.do(AdmissionChanged{Epoch: 100, R: 4, H: 2})
			b.s.floorMark = core.Unknown // as if the leader had begun with an empty log
			c.adopt.Session = 1
			if c.adopt.SourceEpoch == 0 {
				c.adopt.SourceEpoch = 9
			}
			b.do(c.adopt)
			if q, cut := effect[QuarantineRange](b); cut {
				if b.s.leo != 6 {
					t.Fatal("cut before the range was safe")
				}
				b.do(Quarantined{Session: q.Session, From: q.From, To: q.To})
			}
			a := b.answer()
			if a.Outcome != c.want || b.s.leo != c.leo || a.LEO != c.leo || a.BelowFloor != c.rearm {
				t.Fatalf("outcome %d (%s), LEO %d, rearm %v; want %d, %d, %v", a.Outcome, a.Text, b.s.leo, a.BelowFloor, c.want, c.leo, c.rearm)
			}
			if c.want == MirrorDiverged && (b.s.adopted != 7 || !strings.HasPrefix(Describe(b.s).Text, "DIVERGED: ")) {
				t.Fatalf("diverged, yet adopted %d, text %q", b.s.adopted, Describe(b.s).Text)
			}
		})
	}
}

func TestACutIsQuarantinedFirst(t *testing.T) { // R11, F43
	b := mirrored(t, 5, 6, 7).do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 6, EndOffset: 2, LastUnclean: core.NoEpoch, Stated: true})
	q, ok := effect[QuarantineRange](b)
	if !ok || q.From != 2 || q.To != 3 || b.s.leo != 3 {
		t.Fatalf("quarantine %+v (%v), LEO %d", q, ok, b.s.leo)
	}
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{record(9).Stamped(3, 7)}})
	if b.s.leo != 3 {
		t.Fatal("appended to a log that is about to be cut")
	}
	b.do(Quarantined{Session: 1, From: 2, To: 2}) // of another range
	if b.s.leo != 3 {
		t.Fatal("cut more than was saved")
	}
	b.do(Quarantined{Session: 1, From: 2, To: 3})
	last := b.entries[len(b.entries)-2]
	if b.s.leo != 2 || last.Op != core.IndexTruncate || last.Base != 2 {
		t.Fatalf("LEO %d, entry %+v", b.s.leo, last)
	}
	if c, _ := told[highwater.SourceAdopted](b); !c.Truncated || c.LEO != 2 || c.SourceEpoch != 9 || c.Term != 2 {
		t.Fatalf("the HW actor was told %+v", c)
	}
	if a, ok := effect[TellReplica](b); !ok || a.Command.(AlignTo).EndOffset != 2 {
		t.Fatal("followers were not sent to align (F05)")
	}
}

func TestASourceWhoseEpochGoesBackIsNotOurSource(t *testing.T) { // R3
	b := mirrored(t, 7).do(AdoptSource{Session: 1, SourceEpoch: 6, EndEpoch: 6, EndOffset: 1, Stated: true, LastUnclean: core.NoEpoch})
	if b.answer().Outcome != MirrorDiverged || b.s.adopted != 7 {
		t.Fatalf("%+v", b.answer())
	}
}

func TestTheLocalEpochIsRaisedFirst(t *testing.T) { // D23, E08
	adopt := func(e core.LeaderEpoch) *bench {
		return mirrored(t, 7).do(AdoptSource{Session: 1, SourceEpoch: e, EndEpoch: 7, EndOffset: 1, Stated: true, LastUnclean: core.NoEpoch})
	}
	if a := adopt(97).answer(); a.Outcome != MirrorOK {
		t.Fatalf("97 below 100 - 3: %+v", a)
	}
	if a := adopt(98).answer(); a.Outcome != MirrorEpochTooLow || a.Epoch != 100 || a.Adopted != 7 {
		t.Fatalf("98: %+v", a)
	}
}

// Nothing is cut on a guess: an epoch of the source that lies between ours is asked about again.
func TestAnUnknownEpochIsAskedAboutAgain(t *testing.T) {
	b := mirrored(t, 3, 3, 6).do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 5, EndOffset: 4, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.Outcome != MirrorAgain || a.LastEpoch != 3 || b.s.leo != 3 {
		t.Fatalf("%+v, LEO %d", a, b.s.leo)
	}
	b.do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 3, EndOffset: 2, LastUnclean: core.NoEpoch, Stated: true})
	if q, ok := effect[QuarantineRange](b); !ok || q.From != 2 {
		t.Fatalf("%+v", b.late)
	}
}

// A follower that becomes the leader on a slow disk holds more than its view shows. What the source says of that
// view is no reason to part from it.
func TestAQuestionAboutLessThanWeHoldIsAskedAgain(t *testing.T) { // R3
	b := mirrored(t, 3, 6).do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: core.NoEpoch, OfLEO: 0, OfEpoch: core.NoEpoch, KnowsLEO: true, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.Outcome != MirrorAgain || a.LastEpoch != 6 || a.LEO != 2 || b.s.leo != 2 {
		t.Fatalf("%+v, LEO %d", a, b.s.leo)
	}
	// Cut and filled again while the source was asked: the log ends where it ended, and is another one.
	b.do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 3, EndOffset: 1, OfLEO: 2, OfEpoch: 3, KnowsLEO: true, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.Outcome != MirrorAgain || a.LastEpoch != 6 || b.s.leo != 2 {
		t.Fatalf("%+v, LEO %d", a, b.s.leo)
	}
	b.do(AdoptSource{Session: 1, SourceEpoch: 9, EndEpoch: 6, EndOffset: 2, OfLEO: 2, OfEpoch: 6, KnowsLEO: true, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.Outcome != MirrorOK || a.Adopted != 9 || b.s.leo != 2 {
		t.Fatalf("%+v, LEO %d", a, b.s.leo)
	}
}

// The HW of an answer is used only after the truncation the answer's epoch demands (KAFKA-14704).
func TestHWCountsAfterTheTruncation(t *testing.T) { // R8, F09, G10
	b := mirrored(t, 6, 7, 7)
	b.do(AppendMirrored{Session: 1, SourceEpoch: 9, SourceHW: 3})
	if _, used := told[highwater.TrackSourceHW](b); used || b.s.trackedHW() == 3 {
		t.Fatal("HW of an epoch that was not adopted was used")
	}
}

func TestHighestSourceHWSurvivesARestart(t *testing.T) { // R11
	b := mirrored(t, 6)
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{record(9).Stamped(1, 7)}, SourceHW: 1})
	b.restarted().do(Lead{Epoch: 101, Role: Mirroring, Session: 2, Replicas: []core.ReplicaID{1, 2}})
	b.do(AdoptSource{Session: 2, SourceEpoch: 9, EndEpoch: core.NoEpoch, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.Outcome != MirrorDiverged {
		t.Fatalf("%+v: the source had committed record 0", a)
	}
}

// R2, F52: the source's retention went further than we had read. What we hold lies behind a gap that nobody can
// fill: it is quarantined, and the log begins anew where the source's begins, followers included.
func TestBehindTheSourcesLogStartWeBeginAnew(t *testing.T) {
	b := mirrored(t, 5, 6, 7)
	b.do(AdoptSource{Session: 1, SourceEpoch: 7, EndEpoch: 7, EndOffset: 20, SourceStart: 10, LastUnclean: core.NoEpoch, Stated: true})
	q, ok := effect[QuarantineRange](b)
	if !ok || q.From != 0 || q.To != 3 || b.s.leo != 3 {
		t.Fatalf("quarantine %+v (%v), LEO %d", q, ok, b.s.leo)
	}
	b.do(Quarantined{Session: 1, From: q.From, To: q.To})
	a := b.answer()
	if a.Outcome != MirrorOK || !a.Reset || a.LEO != 10 || a.LastEpoch != core.NoEpoch || !strings.Contains(a.Text, "records 3 to 9 were deleted") {
		t.Fatalf("%+v", a)
	}
	if c, _ := told[highwater.SourceAdopted](b); !c.Truncated || c.LEO != 10 {
		t.Fatalf("the HW actor was told %+v", c)
	}
	if to, ok := effect[TellReplica](b); !ok || to.Command.(AlignTo).EndEpoch != core.NoEpoch {
		t.Fatalf("followers were not sent to begin anew: %+v", to)
	}
	if v, _ := effect[PublishView](b); v.View.LogStart != 10 || v.View.HW != 10 || Describe(b.restarted().s).HW != 10 {
		t.Fatalf("readers are shown %+v", v.View)
	}
	b.do(Lead{Epoch: 101, Role: Mirroring, Mirror: "dr", Session: 1, Replicas: []core.ReplicaID{1, 2}})
	b.do(AdoptSource{Session: 1, SourceEpoch: 7, EndEpoch: core.NoEpoch, SourceStart: 10, LastUnclean: core.NoEpoch, Stated: true})
	next := record(9).Stamped(10, 7)
	b.do(AppendMirrored{Session: 1, SourceEpoch: 7, Batches: []batch.Batch{next}, SourceHW: 11, SourceLogStart: 10})
	if v := Describe(b.s); b.answer().Outcome != MirrorOK || v.LogStart != 10 || v.LEO != 11 {
		t.Fatalf("%+v, view %+v", b.answer(), v)
	}
	if v := Describe(b.restarted().s); v.LogStart != 10 || v.LEO != 11 {
		t.Fatalf("after a restart %+v", v)
	}
}

// A new copy of a topic whose log does not begin at 0 begins where it does; nothing was promised of it.
func TestANewCopyBeginsAtTheSourcesLogStart(t *testing.T) {
	b := mirrored(t).do(AdoptSource{Session: 1, SourceEpoch: 7, EndEpoch: core.NoEpoch, SourceStart: 10, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.Outcome != MirrorOK || a.LEO != 10 || a.Reset {
		t.Fatalf("%+v", a)
	}
	b.do(AdoptSource{Session: 1, SourceEpoch: 7, EndEpoch: core.NoEpoch, SourceStart: 20, LastUnclean: core.NoEpoch, Stated: true})
	if a := b.answer(); a.LEO != 20 || !a.Reset {
		t.Fatalf("what lay between 10 and 20 was never here, and nothing says so: %+v", a)
	}
}

// A full disk takes no copy: nothing is cut, and the fetcher hears of it, or it would wait for ever.
func TestACutThatCannotBeSavedIsGivenUp(t *testing.T) { // R11, F43
	adopt := AdoptSource{Ref: 9, Session: 1, SourceEpoch: 9, EndEpoch: 6, EndOffset: 2, LastUnclean: core.NoEpoch, Stated: true}
	b := mirrored(t, 5, 6, 7).do(adopt)
	b.do(QuarantineFailed{Session: 1, From: 1, To: 3, Text: "of another range"})
	if _, answered := effect[MirrorAnswered](b); answered {
		t.Fatal("answered for another range")
	}
	b.do(QuarantineFailed{Session: 1, From: 2, To: 3, Text: "no space left on device"})
	if a := b.answer(); a.Ref != 9 || a.Outcome != MirrorUnsaved || !strings.Contains(a.Text, "no space left") || b.s.leo != 3 {
		t.Fatalf("%+v, LEO %d", a, b.s.leo)
	}
	b.do(Quarantined{Session: 1, From: 2, To: 3})
	if b.s.leo != 3 {
		t.Fatal("cut though nobody asks any more")
	}
	b.do(adopt).do(Quarantined{Session: 1, From: 2, To: 3})
	if b.answer().Outcome != MirrorOK || b.s.leo != 2 {
		t.Fatalf("%+v, LEO %d", b.answer(), b.s.leo)
	}
}

// While a range is being saved the seat or the session may change, and the cut is forgotten. Whoever asked for
// it must hear so: a fetcher without an answer never asks again.
func TestAForgottenCutIsAnswered(t *testing.T) { // R11
	for name, cmd := range map[string]Command{
		"a higher epoch in place": Lead{Epoch: 101, Role: Mirroring, Session: 1, Replicas: []core.ReplicaID{1, 2}},
		"another leader":          Follow{Epoch: 101, Leader: 2},
		"a newer session":         Lead{Epoch: 100, Role: Mirroring, Session: 2, Replicas: []core.ReplicaID{1, 2}},
		"stopping":                Lead{Epoch: 100, Role: Stopping, Session: 1, Replicas: []core.ReplicaID{1, 2}},
		"the fence":               FenceMirror{Ref: 10, Session: 1},
		"a newer check":           AdoptSource{Ref: 10, Session: 1, SourceEpoch: 10, EndEpoch: 6, EndOffset: 2, LastUnclean: core.NoEpoch, Stated: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := mirrored(t, 5, 6, 7)
			b.do(AdoptSource{Ref: 9, Session: 1, SourceEpoch: 9, EndEpoch: 6, EndOffset: 2, LastUnclean: core.NoEpoch, Stated: true})
			b.do(cmd)
			if a := b.answer(); a.Ref != 9 || a.Outcome != MirrorStale {
				t.Fatalf("answered %+v", a)
			}
		})
	}
}
