// Package model explores every schedule of a small mirrored partition, within bounds, by driving the
// shipped machines: breadth-first, so that the first counterexample is a shortest one.
package model

import (
	"fmt"
	"strings"
)

// Bounds is what may happen, and how often. Outside them nothing is claimed.
type Bounds struct {
	Destinations int `default:"1" help:"Destination clusters, 1 or 2."`
	Records      int `default:"2" help:"Records produced."`
	SrcElections int `default:"1" help:"Clean elections at the source."`
	DstElections int `default:"1" help:"Clean elections at each destination."`
	Unclean      int `default:"0" help:"Unclean elections at the source."`
	SrcCrashes   int `default:"0" help:"Crashes of a broker of the source; what is not synced is gone, a leader that comes back leads a new epoch, or is told to lead its old one."`
	DstCrashes   int `default:"0" help:"Crashes of a broker of a destination."`
	Losses       int `default:"0" help:"Restarts of the source with empty disks, unnoticed."`
	Ticks        int `default:"0" help:"Steps of the clock by 11 s: lagging followers leave the ISR, floors are said again."`
	Releases     int `default:"0" help:"Releases of the first destination; each may be followed by a registration under a new epoch."`
	Retries      int `default:"0" help:"Times the producer, idempotent then, sends its newest record again."`
	MinISR       int `name:"min-isr" default:"1" help:"min.insync.replicas of every cluster, pinned for its mirrors."`
	Floors       int `default:"2" help:"Floor reports on their way. Each may arrive late, never, or again and again, until the newest pushes out the oldest."`
	Answers      int `default:"1" help:"Mirror fetch answers on their way, in any order."`

	Graceful bool   `help:"Elections may also leave the old leader in the ISR."`
	SrcSync  bool   `default:"true" negatable:"" help:"Durability at the source is a step of its own."`
	DstSync  bool   `default:"true" negatable:"" help:"Durability at destinations is a step of its own."`
	Lag      bool   `default:"true" negatable:"" help:"Brokers hear of elections and ISR changes as a step of its own, the new leader first; a leader that has not heard acts on."`
	Outside  bool   `help:"The second broker of each destination starts outside the ISR."`
	Fenced   bool   `help:"With --outside: the controller of each destination takes its second broker for dead at first."`
	Start    string `default:"quiet" enum:"quiet,removal,restart" help:"quiet; or record 1 is at the destination's leader, and its second broker has been late with it and its removal is proposed (removal), or has crashed before it read it (restart)."`
	// Under mutants it shows the loss itself instead of the first step that makes it possible.
	AcksOnly bool `help:"Check only what was acknowledged (I01) and HW going back (I14)."`
	// Unregistered starts without a gate: registration is one of the steps.
	Unregistered bool `help:"Registration is a step, not given at the start."`
}

func (b Bounds) String() string {
	var parts []string
	say := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	say(b.Destinations, "destinations")
	say(b.Records, "records")
	say(b.SrcElections, "source elections")
	say(b.DstElections, "destination elections")
	say(b.Unclean, "unclean")
	say(b.SrcCrashes, "source crashes")
	say(b.DstCrashes, "destination crashes")
	say(b.Losses, "unnoticed losses of the source")
	say(b.Ticks, "clock steps")
	say(b.Releases, "releases")
	say(b.Retries, "retries of an idempotent producer")
	if b.MinISR > 1 {
		say(b.MinISR, "min ISR")
	}
	say(b.Floors, "floors in flight")
	say(b.Answers, "answers in flight")
	for _, f := range []struct {
		on   bool
		what string
	}{
		{b.Graceful, "old leaders may stay in ISR"}, {b.SrcSync, "source syncs apart"}, {b.DstSync, "destination syncs apart"},
		{b.Lag, "images lag"}, {b.Outside, "one destination broker outside the ISR"}, {b.Fenced, "which counts as dead at first"}, {b.Unregistered, "registration a step"},
	} {
		if f.on {
			parts = append(parts, f.what)
		}
	}
	if b.Start != quiet {
		parts = append(parts, "starts with a "+b.Start+" at the destination")
	}
	return strings.Join(parts, ", ")
}
