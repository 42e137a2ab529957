package group

import (
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
	"lockstep/testkit/decoding"
)

// A wall clock that jumps, at once or over a restart, makes nobody forget where they were.
func TestAJumpOfTheWallClockExpiresNothing(t *testing.T) {
	w := newWorld(t)
	w.do(Resume{Settings: w.settings})
	w.do(OffsetCommit{Ref: 1, Group: "g", Generation: -1, Offsets: []OffsetToCommit{{Topic: "t", Offset: 5}}})
	for _, year := range []int64{1, -1} {
		w.wall += year * 365 * 24 * 3_600_000
		w.wait(2 * w.settings.RetentionCheckMs)
		w.restart()
		w.wait(2 * w.settings.RetentionCheckMs)
		if f := w.do(OffsetFetch{Ref: 1, Group: "g"})[0].(OffsetsFetched); len(f.Offsets) != 1 || f.Offsets[0].Offset != 5 {
			t.Fatalf("after a jump of %d years: %+v", year, f.Offsets)
		}
	}
}

// Bytes of deleted groups and expired offsets are given back to the shard's bound.
func TestWhatIsGoneIsNotCounted(t *testing.T) {
	w := newWorld(t)
	w.do(Resume{Settings: w.settings})
	empty := w.s.kept
	for _, g := range []string{"a", "b"} {
		w.do(OffsetCommit{Ref: 1, Group: g, Generation: -1, Offsets: []OffsetToCommit{{Topic: "t", Offset: 5, Metadata: "m"}, {Topic: "u"}}})
	}
	w.do(DeleteOffsets{Ref: 1, Group: "a", Positions: []PositionRecord{{Topic: "t"}}})
	w.do(DeleteGroup{Ref: 1, Group: "b"})
	w.wait(w.settings.RetentionMs + w.settings.RetentionCheckMs)
	if w.s.kept != empty || len(w.s.groups) != 0 {
		t.Errorf("%d bytes are counted for %d groups, %d before there were any", w.s.kept, len(w.s.groups), empty)
	}
}

// Clients write subscriptions, so any bytes may come.
func FuzzSubscribedTopics(f *testing.F) {
	f.Add(subscription("topics=a+b"))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0})
	f.Add([]byte{0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		var names []string
		var ok bool
		decoding.Bound{PerByte: 32, Spare: 1 << 10}.Check(t, len(b), func() { names, ok = subscribedTopics(b) })
		if size := len(strings.Join(names, "")); size > len(b) || !ok && names != nil {
			t.Errorf("%d bytes of names in %d, ok %v", size, len(b), ok)
		}
	})
}

// What an open transaction holds does not expire, nor its group; whoever deletes either takes both along.
func TestTransactionsHoldOffsets(t *testing.T) {
	for what, remove := range map[string]Command{
		"the position": DeleteOffsets{Ref: 1, Group: "g", Positions: []PositionRecord{{Topic: "t"}}},
		"the group":    DeleteGroup{Ref: 1, Group: "g"},
	} {
		w := txnWorld{newWorld(t)}
		w.do(Resume{Settings: w.settings})
		w.store(7, 0, 10)
		w.wait(2 * w.settings.RetentionMs)
		w.want(0, true, core.Unknown, perr.UnstableOffsetCommit)
		w.do(remove)
		w.end(7, true)
		w.restart()
		w.want(0, true, core.Unknown, perr.None)
		if len(w.s.pending) != 0 {
			t.Errorf("after %s was deleted: %v", what, w.s.pending)
		}
	}
}
