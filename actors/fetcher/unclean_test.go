package fetcher

import (
	"testing"

	"lockstep/actors/core/mirror"
)

// R11: whether a topic follows an unclean election is its own cluster's to say; what was copied from the source, or set for
// the mirror, counts only where the topic here has no value of its own. A change counts at the next check.
func TestTheTopicHereSaysWhetherUncleanElectionsAreFollowed(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.home.change(func() { r.home.follows, r.home.followsSet = true, true })
	r.peer.produce(0, 1, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 1)
	r.home.change(func() {
		if n := len(l.adopts); n == 0 || !l.adopts[n-1].FollowUnclean {
			t.Errorf("adopted as %+v", l.adopts)
		}
		r.home.follows = false
	})
	r.peer.change(func() { r.peer.logs[0].epoch = 2 })
	r.peer.produce(0, 1, true)
	r.upTo(0, 2)
	r.home.change(func() {
		if a := l.adopts[len(l.adopts)-1]; a.FollowUnclean || a.SourceEpoch != 2 {
			t.Errorf("after the change adopted as %+v", a)
		}
	})
}
