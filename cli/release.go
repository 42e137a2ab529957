package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

// release is the source operator's --release-sync, and what goes with it. It runs on the source.
func (c *mirrorsCommand) release(ctx context.Context, w io.Writer, cl *admin.Client) error {
	names, err := c.registered(ctx, cl)
	if err != nil {
		return err
	}
	r, err := cl.Release(ctx, c.Mirror, names, admin.ReleaseOptions{DryRun: c.DryRun, Hold: c.Hold, Unhold: c.Unhold, Forget: c.Forget, Force: c.Force, AfterLease: c.AfterLease})
	if err != nil {
		return err
	}
	done, err := c.outcome(w, r)
	if err == nil && c.Wait && r.Wait > 0 && !c.DryRun {
		return c.untilLeft(ctx, c.progress(w), cl, done)
	}
	return err
}

// outcome prints a release, and returns the topics that it did not refuse.
func (c *mirrorsCommand) outcome(w io.Writer, r admin.Release) ([]string, error) {
	topics, taken := r.Topics, []string(nil)
	if len(c.Topics) == 0 && !c.Force {
		topics, taken = exceptTaken(r.Topics)
	}
	done, err := report(c.progress(w), topics)
	switch {
	case c.JSON:
		return done, errors.Join(err, printJSON(w, c.releaseRow(r)))
	case len(done) > 0 || len(r.Topics) == 0: // where every topic was refused nothing was released, and the errors say why
		c.released(w, r, done)
	}
	if len(taken) > 0 {
		fmt.Fprintf(c.progress(w), "Left alone: %d topic(s) that %s has taken over: %s\n", len(taken), printable(r.Cluster), taken)
	}
	return done, err
}

// exceptTaken sets aside topics of a whole mirror that were refused because it has taken them over: nothing waits for them
// here, and an error would make whoever has a dead destination --force them. Where nothing else was released, it is the error.
func exceptTaken(topics []admin.TopicResult) (rest []admin.TopicResult, taken []string) {
	for _, t := range topics {
		var refused *admin.Error
		if errors.As(t.Err, &refused) && refused.Code == perr.InvalidClusterMirrorState {
			taken = append(taken, printable(t.Topic))
			continue
		}
		rest = append(rest, t)
	}
	if !slices.ContainsFunc(rest, func(t admin.TopicResult) bool { return t.Err == nil }) {
		return topics, nil
	}
	return rest, taken
}

// released says what a release did, or would do, to the topics done.
func (c *mirrorsCommand) released(w io.Writer, r admin.Release, done []string) {
	cluster := printable(r.Cluster)
	verb := "Released"
	if c.Unhold {
		verb = "Lifted the hold on"
	}
	if c.DryRun {
		verb = map[bool]string{false: "Would release", true: "Would lift the hold on"}[c.Unhold]
	}
	fmt.Fprintf(w, "%s %d topic(s) of mirror %s of cluster %s: %s\n", verb, len(done), c.Mirror, cluster, done)
	if r.Wait > 0 {
		fmt.Fprintln(w, waits(r, c.DryRun))
	}
	switch {
	case c.DryRun || c.Unhold:
	case c.Forget:
		fmt.Fprintf(w, "Release %d: the name %s no longer belongs to %s\n", r.Number, c.Mirror, cluster)
	case c.Hold:
		fmt.Fprintf(w, "Release %d: records acknowledged from now on are not on %s; sync resumes only after --release-sync --unhold --mirror %s\n", r.Number, cluster, c.Mirror)
	default:
		from := map[bool]string{false: "from now on", true: "after that"}[r.Wait > 0]
		fmt.Fprintf(w, "Release %d: records acknowledged %s are not on %s until it has caught up and sync has resumed by itself\n", r.Number, from, cluster)
	}
}

// releaseRow is a release as JSON. The release is 0 for a dry run and an unhold; the wait is at most how long.
type releaseRow struct {
	Mirror   string         `json:"mirror"`
	Cluster  string         `json:"cluster"`
	Release  int64          `json:"release"`
	DryRun   bool           `json:"dryRun"`
	WaitMs   int64          `json:"waitMs"`
	Promised bool           `json:"promised"`
	Topics   []releaseTopic `json:"topics"`
}

type releaseTopic struct {
	Topic   string `json:"topic"`
	Warning string `json:"warning"`
	Error   string `json:"error"`
}

func (c *mirrorsCommand) releaseRow(r admin.Release) releaseRow {
	row := releaseRow{c.Mirror, r.Cluster, r.Number, c.DryRun, r.Wait.Milliseconds(), r.Promised, []releaseTopic{}}
	for _, t := range r.Topics {
		row.Topics = append(row.Topics, releaseTopic{t.Topic, t.Warning, textOfError(t.Err)})
	}
	return row
}

func textOfError(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// waits says for how long producers go on waiting, and why.
func waits(r admin.Release, dryRun bool) string {
	verb, why := "wait", ""
	if dryRun {
		verb = "would wait"
	}
	if r.Promised {
		why = " (promised by lockstep.release.after.lease; --force does not wait)"
	}
	return fmt.Sprintf("Producers %s until %s has heard of it or its claim lease is over: at most %s%s", verb, printable(r.Cluster), r.Wait, why)
}

// untilLeft polls the source until no ack waits for the mirror any more.
func (c *mirrorsCommand) untilLeft(ctx context.Context, w io.Writer, cl *admin.Client, topics []string) error {
	deadline := time.Now().Add(c.Timeout)
	for {
		sources, err := cl.Sources(ctx)
		if err != nil {
			return err
		}
		var left []string
		for _, s := range sources {
			for _, r := range s.Registrations {
				if slices.Contains(topics, s.TopicName) && r.MirrorName == c.Mirror && r.Leaving {
					left = append(left, s.TopicName)
				}
			}
		}
		switch {
		case len(left) == 0:
			fmt.Fprintf(w, "Acknowledgements do not wait for mirror %s any more\n", c.Mirror)
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%w after %s: producers of %s still wait; %s", errUnwanted, c.Timeout, strings.Join(left, ", "), goesOn)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
