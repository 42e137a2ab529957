package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// verbRow is what became of one topic, as JSON.
type verbRow struct {
	Mirror  string `json:"mirror"`
	Topic   string `json:"topic"`
	Verb    string `json:"verb"`
	State   string `json:"state"`
	Era     int64  `json:"era"`
	Warning string `json:"warning"`
	Error   string `json:"error"`
}

func (c *mirrorsCommand) switchover(ctx context.Context, w io.Writer, cl *admin.Client) error {
	return c.take(ctx, w, cl, "switchover", cl.SwitchTopics, nil)
}

func (c *mirrorsCommand) failover(ctx context.Context, w io.Writer, cl *admin.Client) error {
	return c.take(ctx, w, cl, "failover", cl.FailTopics, ungated)
}

// ungated warns of partitions that a failover takes over without the promise of a SYNC topic: whoever does not look at
// --preview first must hear of it.
func ungated(t messages.DescribeClusterMirrorsResponseTopic) string {
	if t.Phase == "STOPPING" || t.Phase == "STOPPED" {
		return ""
	}
	var open []messages.DescribeClusterMirrorsResponsePartition
	for _, p := range t.Partitions {
		if !p.Armed {
			open = append(open, p)
		}
	}
	if len(open) == 0 {
		return ""
	}
	return fmt.Sprintf("was %s: %d of %d partitions did not gate acks (%s at the newest answer of the source), so acknowledged records of them may be missing here",
		t.State, len(open), len(t.Partitions), behind(open, "how far behind is not known"))
}

// take moves the writes of topics to this cluster. Topics that are writable here already are left alone, so that the
// command can be repeated. warn, unless it is nil, says what to think over about a topic as it was before.
func (c *mirrorsCommand) take(ctx context.Context, w io.Writer, cl *admin.Client, verb string, begin func(context.Context, string, []string) ([]admin.TopicResult, error), warn func(messages.DescribeClusterMirrorsResponseTopic) string) error {
	if c.Preview {
		return c.preview(ctx, w, cl)
	}
	topics, err := c.matchingTopics(ctx, cl)
	if err != nil {
		return err
	}
	warnings := map[string]string{}
	for _, t := range topics {
		if warn != nil {
			warnings[t.TopicName] = warn(t)
		}
	}
	started := time.Now()
	results, err := begin(ctx, c.Mirror, namesOf(topics))
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Err == nil {
			results[i].Warning = both(r.Warning, warnings[r.Topic])
		}
	}
	progress := c.progress(w)
	done, err := report(progress, results)
	if len(done) > 0 {
		fmt.Fprintf(progress, "Began a %s of %d topic(s) of mirror %s: %s\n", verb, len(done), c.Mirror, done)
	}
	if c.Wait && len(done) > 0 {
		ended := c.untilTaken(ctx, progress, cl, done, stuck[verb])
		if ended == nil {
			fmt.Fprintf(progress, "Writable here after %s: point the producers at this cluster\n", time.Since(started).Round(time.Millisecond))
		}
		err = errors.Join(err, ended)
	}
	return c.ended(ctx, w, cl, verb, results, err)
}

// both joins what the cluster warns of and what we do.
func both(theirs, ours string) string {
	if theirs == "" || ours == "" {
		return theirs + ours
	}
	return theirs + "; it " + ours
}

// progress is where text for people goes: nowhere with --json, so that what is printed is one JSON value.
func (c *mirrorsCommand) progress(w io.Writer) io.Writer {
	if c.JSON {
		return io.Discard
	}
	return w
}

// ended is the end of an action on topics that came out as err: with --json it prints what became of each topic.
func (c *mirrorsCommand) ended(ctx context.Context, w io.Writer, cl *admin.Client, verb string, results []admin.TopicResult, err error) error {
	if !c.JSON {
		return err
	}
	return errors.Join(err, c.printVerb(ctx, w, cl, verb, results))
}

// stuck says what to do about a verb that --wait gave up on.
var stuck = map[string]string{
	"switchover": "it goes on by itself once the source answers; if the source is gone, --failover takes its place",
	"failover":   "it goes on by itself; --describe and the log of this cluster show what it waits for",
}

// untilTaken waits for the end of a switchover or failover. A switchover may end with the source keeping the writes.
func (c *mirrorsCommand) untilTaken(ctx context.Context, w io.Writer, cl *admin.Client, names []string, next string) error {
	var kept []error
	err := c.until(ctx, w, cl, names, next, func(t messages.DescribeClusterMirrorsResponseTopic) bool {
		if t.SwitchingOver || t.Phase == "STOPPING" {
			return false
		}
		if t.Phase != "STOPPED" {
			kept = append(kept, fmt.Errorf("topic %s was not switched over: %s", printable(t.TopicName), printable(value(t.ErrorMessage))))
		}
		return true
	})
	return errors.Join(append(kept, err)...)
}

// ofTopic is the error of a whole topic. Without one the cluster tells that of a partition, which may pass by itself.
func ofTopic(t messages.DescribeClusterMirrorsResponseTopic) string {
	if text := value(t.ErrorMessage); !strings.HasPrefix(text, "partition ") {
		return text
	}
	return ""
}

func (c *mirrorsCommand) printVerb(ctx context.Context, w io.Writer, cl *admin.Client, verb string, results []admin.TopicResult) error {
	mirrors, err := cl.Describe(ctx, c.Mirror)
	if err != nil {
		return err
	}
	rows := []verbRow{}
	for _, r := range results {
		row := verbRow{Mirror: c.Mirror, Topic: r.Topic, Verb: verb, Warning: r.Warning}
		for _, m := range mirrors {
			for _, t := range m.Topics {
				if t.TopicName == r.Topic {
					row.State, row.Era, row.Error = t.State, t.Era, ofTopic(t)
				}
			}
		}
		if r.Err != nil {
			row.Error = r.Err.Error()
		}
		rows = append(rows, row)
	}
	return printJSON(w, rows)
}
