package front

import (
	"fmt"
	"sort"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/mirror"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// withMirrors calls use with the descriptions of this cluster's mirrors, by name. Without mirrors that
// happens before it returns.
func (f *Front) withMirrors(use func([]mirror.Description)) {
	names := f.cluster.Mirrors()
	list := make([]mirror.Description, len(names))
	done := countdown(len(names), func() {
		var there []mirror.Description
		for _, d := range list {
			if d.Exists {
				there = append(there, d)
			}
		}
		sort.Slice(there, func(i, j int) bool { return there[i].Mirror < there[j].Mirror })
		use(there)
	})
	for i, name := range names {
		f.cluster.Mirror(name, func(ref core.RequestID) mirror.Command { return mirror.Describe{Ref: ref} }, func(reply any) {
			defer done()
			if d, ok := reply.(mirror.Described); ok {
				list[i] = d.Mirror
			}
		})
	}
}

// describable are the mirrors that the asker may see.
func (f *Front) describable(from Client, all []mirror.Description) (seen []mirror.Description) {
	for _, d := range all {
		if f.seesMirror(from, string(d.Mirror)) {
			seen = append(seen, d)
		}
	}
	return seen
}

func (f *Front) seesMirror(from Client, name string) bool {
	return f.sees(from, access.Describe, access.ClusterMirror, name)
}

// withMirror calls use with one mirror, ok false if this cluster has none of that name.
func (f *Front) withMirror(name core.MirrorName, use func(d mirror.Description, ok bool)) {
	f.withMirrors(func(all []mirror.Description) {
		for _, d := range all {
			if d.Mirror == name {
				use(d, true)
				return
			}
		}
		use(mirror.Description{}, false)
	})
}

// noMirror says that this cluster has no mirror of a name. Whoever asks the source for its destination's mirror, which is one
// wrong --bootstrap-server away, must hear which cluster answered.
func (f *Front) noMirror(name core.MirrorName) string {
	return fmt.Sprintf("no mirror %q in cluster %s: a mirror is at its destination, ask there; --list shows those that are here, --create makes one", name, f.cluster.ID())
}

// claims reports whether an include pattern of a mirror matches a name: only the mirror may make that
// topic, with the id of its source (D26).
func claims(all []mirror.Description, name string) bool {
	for _, d := range all {
		if matchesAny(d.Include, name) && !matchesAny(d.Exclude, name) {
			return true
		}
	}
	return false
}

// mirrorAnswer reads the answer about a mirror as a whole.
func mirrorAnswer(reply any) (perr.Code, string) {
	switch e := reply.(type) {
	case mirror.Answered:
		return e.Code, e.Text
	case mirror.TopicsAnswered:
		return e.Code, e.Text
	case shell.Failed:
		return perr.CoordinatorNotAvailable, e.Text
	default:
		panic("front: unknown answer of a mirror")
	}
}
