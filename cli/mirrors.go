package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// mirrorsCommand has the flags of the KIP's tool: one action, and what goes with it.
type mirrorsCommand struct {
	BootstrapServer string `name:"bootstrap-server" required:"" help:"Kafka listeners of the cluster to ask, host:port[,host:port]: the destination, except for --release-sync."`
	CommandConfig   string `name:"command-config" type:"existingfile" help:"Client properties for this tool."`

	Create      bool `help:"Define a mirror from --mirror-config."`
	Start       bool `aliases:"add" help:"Mirror the source's topics that match --topics (also: --add)."`
	Stop        bool `aliases:"remove" help:"Stop mirroring; topics become writable. Needs no reachable source (also: --remove)."`
	Switchover  bool `help:"Planned move: the source hands the topics' writes over and this cluster takes them. Loses nothing; topics must be SYNC."`
	Failover    bool `help:"Disaster: take the topics' writes over from a source that is lost. It is told if it comes back, and stops then."`
	Alter       bool `help:"Set the desired type of topics with --sync or --async."`
	Describe    bool `help:"Show every partition: offsets, lag, state, and what is promised."`
	List        bool `help:"Show the mirrors of this cluster."`
	Recover     bool `help:"Mirror FAILED and ORPHANED topics again; DIVERGED ones with --accept-source."`
	ReleaseSync bool `name:"release-sync" help:"On the SOURCE: stop waiting for an unreachable destination. Breaks zero RPO until it has recovered."`

	Mirror       string        `help:"Name of the mirror."`
	MirrorConfig string        `name:"mirror-config" type:"existingfile" help:"Properties of the mirror; bootstrap.servers of the source is required. Secrets are named in them: ${file:PATH:KEY} or ${env:NAME} of the cluster's machine."`
	SourceConfig string        `name:"source-config" type:"existingfile" help:"With --sync: client properties to ask the source whether it can gate, where it wants TLS."`
	Topics       []string      `aliases:"topic" help:"Names or regular expressions, comma separated; each must match a whole name."`
	Exclude      []string      `help:"With --start: names or regular expressions that win over --topics."`
	Sync         bool          `xor:"type" help:"With --start and --alter: promote to synchronous as soon as lag is zero."`
	Async        bool          `xor:"type" help:"With --alter: back to asynchronous at once."`
	DryRun       bool          `name:"dry-run" help:"With --release-sync: say what would be released."`
	AcceptSource bool          `name:"accept-source" help:"With --recover: a DIVERGED topic takes its source's history; what is cut here moves to quarantine. (--stop keeps this copy instead.)"`
	Hold         bool          `xor:"hold" help:"With --release-sync: refuse the destination's return to SYNC until --unhold."`
	Unhold       bool          `xor:"hold" help:"With --release-sync: release nothing, and let the destination return."`
	Forget       bool          `help:"With --release-sync, without --topics: the mirror's name becomes free for another cluster."`
	AfterLease   bool          `name:"after-lease" help:"With --release-sync: producers wait until the destination has heard of it or its claim lease is over, so that it never shows SYNC for what it lacks."`
	Force        bool          `help:"With --release-sync: also topics that the mirror has taken over (two clusters take their writes then), and no wait where lockstep.release.after.lease promised one."`
	Preview      bool          `help:"With --switchover, --failover and --stop: show per partition what would be kept, and do nothing."`
	Sources      bool          `help:"With --describe: only this cluster's own topics that mirrors of others gate or have taken over."`
	Wait         bool          `help:"With --start, --alter, --stop, --switchover, --failover and --release-sync: until it is so, or --timeout."`
	Timeout      time.Duration `default:"60s" help:"With --wait: exit code 2 after this long."`
	JSON         bool          `name:"json" help:"As JSON, instead of text; errors stay text."`
	Failed       bool          `help:"With --describe: only partitions that are failing."`
}

func (c *mirrorsCommand) Run(w io.Writer) error {
	action, err := c.action()
	if err != nil {
		return err
	}
	if err := checkPatterns(c.Topics); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout+30*time.Second)
	defer cancel()
	cl, err := connect(c.BootstrapServer, c.CommandConfig)
	if err != nil {
		return err
	}
	defer cl.Close()
	return action(ctx, w, cl)
}

type action func(ctx context.Context, w io.Writer, cl *admin.Client) error

// action checks everything that can be checked without asking the cluster.
func (c *mirrorsCommand) action() (action, error) {
	chosen := map[string]action{}
	for _, a := range []struct {
		name string
		on   bool
		do   action
	}{
		{"--create", c.Create, c.create}, {"--start", c.Start, c.start}, {"--stop", c.Stop, c.stop}, {"--switchover", c.Switchover, c.switchover}, {"--failover", c.Failover, c.failover}, {"--alter", c.Alter, c.alter},
		{"--describe", c.Describe, c.describe}, {"--list", c.List, c.list}, {"--release-sync", c.ReleaseSync, c.release},
		{"--recover", c.Recover, c.recoverTopics},
	} {
		if a.on {
			chosen[a.name] = a.do
		}
	}
	names := make([]string, 0, len(chosen))
	for name := range chosen {
		names = append(names, name)
	}
	sort.Strings(names)
	const actions = "--create, --start (--add), --stop (--remove), --switchover, --failover, --alter, --describe, --list, --recover, --release-sync"
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("what to do is missing: name one of %s", actions)
	case 1:
	default:
		return nil, fmt.Errorf("%s were given together: name exactly one of %s", strings.Join(names, " and "), actions)
	}
	name := names[0]
	if c.Preview && name != "--switchover" && name != "--failover" && name != "--stop" {
		return nil, fmt.Errorf("--preview goes with --switchover, --failover and --stop, not with %s", name)
	}
	if c.Force && name != "--release-sync" {
		return nil, fmt.Errorf("--force goes with --release-sync, not with %s", name)
	}
	if c.Sources && name != "--describe" {
		return nil, fmt.Errorf("--sources goes with --describe, not with %s", name)
	}
	needs := func(flag string, given bool) error {
		if given {
			return nil
		}
		return fmt.Errorf("%s needs %s", name, flag)
	}
	var err error
	switch name {
	case "--create":
		err = errors.Join(needs("--mirror", c.Mirror != ""), needs("--mirror-config", c.MirrorConfig != ""))
	case "--switchover", "--failover":
		err = needs("--mirror", c.Mirror != "")
	case "--start", "--stop", "--recover":
		err = errors.Join(needs("--mirror", c.Mirror != ""), needs("--topics", len(c.Topics) > 0))
	case "--alter":
		err = errors.Join(needs("--mirror", c.Mirror != ""), needs("--topics", len(c.Topics) > 0), needs("--sync or --async", c.Sync || c.Async))
	case "--release-sync":
		err = needs("--mirror", c.Mirror != "")
	}
	if name != "--release-sync" && (c.Hold || c.Unhold || c.Forget || c.DryRun || c.AfterLease) {
		err = errors.Join(err, fmt.Errorf("--hold, --unhold, --forget, --after-lease and --dry-run go with --release-sync, not with %s", name))
	}
	if c.AcceptSource && name != "--recover" {
		err = errors.Join(err, fmt.Errorf("--accept-source goes with --recover, not with %s", name))
	}
	if c.SourceConfig != "" && !c.Sync {
		err = errors.Join(err, errors.New("--source-config goes with --sync: without it the source is not asked by this tool"))
	}
	if c.Forget && (c.Hold || c.Unhold || len(c.Topics) > 0) {
		err = errors.Join(err, errors.New("--forget gives up the whole mirror: leave out --topics, --hold and --unhold"))
	}
	if c.AfterLease && (c.Unhold || c.Force) {
		err = errors.Join(err, errors.New("--after-lease goes neither with --unhold, which releases nothing, nor with --force, which does not wait"))
	}
	return chosen[name], err
}

// createdRow is a mirror that was made, as JSON. The source's id is empty until the source has answered.
type createdRow struct {
	Mirror          string `json:"mirror"`
	SourceClusterID string `json:"sourceClusterId"`
}

func (c *mirrorsCommand) create(ctx context.Context, w io.Writer, cl *admin.Client) error {
	config, err := propertiesOf("--mirror-config", c.MirrorConfig)
	if err != nil {
		return err
	}
	source, err := cl.CreateMirror(ctx, c.Mirror, config)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(w, createdRow{c.Mirror, source})
	}
	if source != "" {
		source = " of source cluster " + source
	}
	fmt.Fprintf(w, "Created mirror %s%s\n", c.Mirror, printable(source))
	return nil
}

func (c *mirrorsCommand) start(ctx context.Context, w io.Writer, cl *admin.Client) error {
	kind := admin.Async
	if c.Sync {
		kind = admin.Sync
		if err := c.probe(ctx, cl); err != nil {
			return err
		}
	}
	results, err := cl.StartTopics(ctx, c.Mirror, c.Topics, c.Exclude, kind)
	if err != nil {
		return err
	}
	progress := c.progress(w)
	if len(results) == 0 {
		fmt.Fprintf(progress, "No topic of the source matches yet; the patterns are saved in mirror %s, and a topic that matches is\nmirrored by itself, a minute after it was made (repeat --start to do it at once)\n", c.Mirror)
		return c.ended(ctx, w, cl, "start", nil, nil)
	}
	done, err := report(progress, results)
	if len(done) > 0 {
		fmt.Fprintf(progress, "Started %d mirror topic(s) in mirror %s: %s\n", len(done), c.Mirror, done)
	}
	if err == nil && c.Wait {
		err = c.until(ctx, progress, cl, done, goesOn, func(t messages.DescribeClusterMirrorsResponseTopic) bool { return settled(t, kind) })
	} else if err == nil && c.Sync {
		err = c.pending(ctx, progress, cl, done)
	}
	return c.ended(ctx, w, cl, "start", results, err)
}

func (c *mirrorsCommand) alter(ctx context.Context, w io.Writer, cl *admin.Client) error {
	kind := admin.Async
	if c.Sync {
		kind = admin.Sync
		if err := c.probe(ctx, cl); err != nil {
			return err
		}
	}
	names, err := c.matching(ctx, cl)
	if err != nil {
		return err
	}
	results, err := cl.AlterType(ctx, c.Mirror, names, kind)
	if err != nil {
		return err
	}
	progress := c.progress(w)
	done, err := report(progress, results)
	if len(done) > 0 {
		fmt.Fprintf(progress, "Set %d topic(s) of mirror %s to %s: %s\n", len(done), c.Mirror, typeName(kind), done)
	}
	if err == nil && c.Wait {
		err = c.until(ctx, progress, cl, done, goesOn, func(t messages.DescribeClusterMirrorsResponseTopic) bool { return settled(t, kind) })
	} else if err == nil && c.Sync {
		err = c.pending(ctx, progress, cl, done)
	}
	return c.ended(ctx, w, cl, "alter", results, err)
}

func (c *mirrorsCommand) stop(ctx context.Context, w io.Writer, cl *admin.Client) error {
	if c.Preview {
		return c.preview(ctx, w, cl)
	}
	names, err := c.matching(ctx, cl)
	if err != nil {
		return err
	}
	results, err := cl.StopTopics(ctx, c.Mirror, names)
	if err != nil {
		return err
	}
	progress := c.progress(w)
	done, err := report(progress, results)
	if len(done) > 0 {
		fmt.Fprintf(progress, "Stopped mirroring for topics %s in mirror %s\n", done, c.Mirror)
	}
	if err == nil && c.Wait {
		err = c.until(ctx, progress, cl, done, goesOn, func(t messages.DescribeClusterMirrorsResponseTopic) bool {
			if stopped(t) && ofTopic(t) != "" {
				fmt.Fprintf(progress, "Warning: topic %s: %s\n", printable(t.TopicName), printable(ofTopic(t)))
			}
			return stopped(t)
		})
	}
	return c.ended(ctx, w, cl, "stop", results, err)
}

// report prints refusals and warnings, and returns the names that went well.
func report(w io.Writer, results []admin.TopicResult) ([]string, error) {
	var done []string
	var refused []error
	for _, r := range results {
		if r.Err != nil {
			refused = append(refused, fmt.Errorf("topic %s: %w", printable(r.Topic), r.Err))
			continue
		}
		done = append(done, printable(r.Topic))
		if r.Warning != "" {
			about := fmt.Sprintf("topic %q ", r.Topic) // most warnings name their topic themselves
			fmt.Fprintf(w, "Warning: topic %s: %s\n", printable(r.Topic), printable(strings.TrimPrefix(r.Warning, about)))
		}
	}
	return done, errors.Join(refused...)
}

// matching resolves --topics against the topics of the mirror.
func (c *mirrorsCommand) matching(ctx context.Context, cl *admin.Client) ([]string, error) {
	topics, err := c.matchingTopics(ctx, cl)
	return namesOf(topics), err
}

func (c *mirrorsCommand) matchingTopics(ctx context.Context, cl *admin.Client) ([]messages.DescribeClusterMirrorsResponseTopic, error) {
	mirrors, err := cl.Describe(ctx, c.Mirror)
	if err != nil {
		return nil, err
	}
	var topics []messages.DescribeClusterMirrorsResponseTopic
	for _, m := range mirrors {
		for _, t := range m.Topics {
			if c.matches(t.TopicName) {
				topics = append(topics, t)
			}
		}
	}
	if len(topics) == 0 {
		return nil, fmt.Errorf("no topic of mirror %s matches --topics %s", c.Mirror, strings.Join(c.Topics, ","))
	}
	return topics, nil
}

func namesOf(topics []messages.DescribeClusterMirrorsResponseTopic) (names []string) {
	for _, t := range topics {
		names = append(names, t.TopicName)
	}
	return names
}

// matches reports whether a topic is meant: by name, by pattern, or by leaving --topics out.
func (c *mirrorsCommand) matches(name string) bool { return matches(c.Topics, name) }

func typeName(t int8) string {
	if t == admin.Sync {
		return "SYNC"
	}
	return "ASYNC"
}
