package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"lockstep/protocol/admin"
)

// release is the source operator's --release-sync, and what goes with it. It runs on the source.
func (c *mirrorsCommand) release(ctx context.Context, w io.Writer, cl *admin.Client) error {
	names, err := c.registered(ctx, cl)
	if err != nil {
		return err
	}
	r, err := cl.Release(ctx, c.Mirror, names, admin.ReleaseOptions{DryRun: c.DryRun, Hold: c.Hold, Unhold: c.Unhold, Forget: c.Forget, Force: c.Force})
	if err != nil {
		return err
	}
	done, err := report(w, r.Topics)
	cluster := printable(r.Cluster)
	verb := "Released"
	if c.Unhold {
		verb = "Lifted the hold on"
	}
	if c.DryRun {
		verb = map[bool]string{false: "Would release", true: "Would lift the hold on"}[c.Unhold]
	}
	fmt.Fprintf(w, "%s %d topic(s) of mirror %s of cluster %s: %s\n", verb, len(done), c.Mirror, cluster, done)
	switch {
	case c.DryRun || c.Unhold:
	case c.Forget:
		fmt.Fprintf(w, "Release %d: the name %s no longer belongs to %s\n", r.Number, c.Mirror, cluster)
	case c.Hold:
		fmt.Fprintf(w, "Release %d: records acknowledged from now on are not on %s; sync resumes only after --release-sync --unhold --mirror %s\n", r.Number, cluster, c.Mirror)
	default:
		fmt.Fprintf(w, "Release %d: records acknowledged from now on are not on %s until it has caught up and sync has resumed by itself\n", r.Number, cluster)
	}
	return err
}

// registered resolves --topics, names or patterns, against what the mirror has registered here; nil without
// --topics, which means the whole mirror. A pattern that matches nothing must not look like success.
func (c *mirrorsCommand) registered(ctx context.Context, cl *admin.Client) ([]string, error) {
	if len(c.Topics) == 0 {
		return nil, nil
	}
	all, err := cl.Release(ctx, c.Mirror, nil, admin.ReleaseOptions{DryRun: true})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range all.Topics {
		if c.matches(t.Topic) {
			names = append(names, t.Topic)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no topic that mirror %s registered here matches --topics %s; nothing was released", c.Mirror, strings.Join(c.Topics, ","))
	}
	return names, nil
}
