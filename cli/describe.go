package main

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"time"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// describeRow is one partition as JSON. Users pipe it to jq: fields may be added, never renamed.
type describeRow struct {
	Mirror            string `json:"mirror"`
	Topic             string `json:"topic"`
	Partition         int32  `json:"partition"`
	SourceOffset      int64  `json:"sourceOffset"`
	DestinationOffset int64  `json:"destinationOffset"`
	Lag               int64  `json:"lag"`
	State             string `json:"state"`
	RetryAttempt      int16  `json:"retryAttempt"`
	ErrorMessage      string `json:"errorMessage"`
	DesiredType       string `json:"desiredType"`
	EffectiveType     string `json:"effectiveType"`
	RecoveryPending   bool   `json:"recoveryPending"`
	TopicState        string `json:"topicState"`
	Phase             string `json:"phase"`
	ArmedPartitions   int32  `json:"armedPartitions"`
	Armed             bool   `json:"armed"`
	ZeroRPOFrom       int64  `json:"zeroRpoFrom"`
	ClaimTime         string `json:"claimTime"`
	Unconfirmed       bool   `json:"unconfirmed"`
	LastMirrorEpoch   int32  `json:"lastMirrorEpoch"`
	SourceEpoch       int32  `json:"sourceEpoch"`
	Floor             int64  `json:"floor"`
	SourceEnd         int64  `json:"sourceEnd"`
	Era               int64  `json:"era"`
	Verb              string `json:"verb"`
	SwitchingOver     bool   `json:"switchingOver"`
	SourceObeys       string `json:"sourceObeys"`
	Class             string `json:"class"`
	ZeroRPO           bool   `json:"zeroRpo"`
	TopicMessage      string `json:"topicMessage"`
}

func (c *mirrorsCommand) describe(ctx context.Context, w io.Writer, cl *admin.Client) error {
	if c.Sources {
		return c.describeSources(ctx, w, cl)
	}
	var names []string
	if c.Mirror != "" {
		names = []string{c.Mirror}
	}
	mirrors, err := cl.Describe(ctx, names...)
	if err != nil {
		return err
	}
	rows := []describeRow{}
	var notes []string
	topics := table{heads: []string{"MIRROR", "TOPIC", "TYPE", "ARMED", "ERA", "STATE"}, limits: []int{30, 40}, names: []int{0, 1}, spare: []int{2, 4}}
	for _, m := range mirrors {
		for _, t := range m.Topics {
			if len(c.Topics) > 0 && !c.matches(t.TopicName) {
				continue
			}
			kind := typeName(t.EffectiveMirrorType)
			if t.DesiredMirrorType != t.EffectiveMirrorType {
				kind += " (desired " + typeName(t.DesiredMirrorType) + ")"
			}
			topics.add(m.MirrorName, t.TopicName, kind, fmt.Sprintf("%d/%d", t.ArmedPartitions, len(t.Partitions)), number(t.Era), t.State)
			if text := ofTopic(t); text != "" {
				notes = append(notes, fmt.Sprintf("Topic %s of mirror %s: %s", printable(t.TopicName), printable(m.MirrorName), printable(text)))
			}
			for _, p := range t.Partitions {
				row := describeOne(m.MirrorName, t, p)
				broken := row.State == "FAILED" || row.State == "DIVERGED" || row.State == "ORPHANED"
				if c.Failed && broken && row.ErrorMessage == "" {
					row.ErrorMessage = row.TopicMessage
				}
				if !c.Failed || broken || row.ErrorMessage != "" {
					rows = append(rows, row)
				}
			}
		}
	}
	switch {
	case c.JSON:
		return printJSON(w, rows)
	case c.Failed:
		printFailed(w, rows)
	case len(rows) == 0:
		fmt.Fprintln(w, "No mirror partitions found")
		return c.describeSources(ctx, w, cl)
	default:
		topics.print(w)
		for _, n := range notes {
			fmt.Fprintln(w, strings.Join(wrap(n, screen-4), "\n    "))
		}
		fmt.Fprintln(w)
		printPartitions(w, rows)
		return c.describeSources(ctx, w, cl)
	}
	return nil
}

func describeOne(mirror string, t messages.DescribeClusterMirrorsResponseTopic, p messages.DescribeClusterMirrorsResponsePartition) describeRow {
	return describeRow{Mirror: mirror, Topic: t.TopicName, Partition: p.PartitionIndex, SourceOffset: p.SourceOffset,
		DestinationOffset: p.DestinationOffset, Lag: p.Lag, State: p.StateValue, RetryAttempt: p.RetryAttempt,
		ErrorMessage: value(p.ErrorMessage), DesiredType: typeName(t.DesiredMirrorType), EffectiveType: typeName(t.EffectiveMirrorType),
		RecoveryPending: t.RecoveryPending, TopicState: t.State, Phase: t.Phase, ArmedPartitions: t.ArmedPartitions, Armed: p.Armed,
		ZeroRPOFrom: p.ZeroRpoFrom, ClaimTime: instant(t.ClaimTimeMs), Unconfirmed: t.Unconfirmed, ZeroRPO: t.ZeroRpo, TopicMessage: value(t.ErrorMessage), LastMirrorEpoch: p.LastMirrorEpoch,
		SourceEpoch: p.SourceEpoch, Floor: p.Floor, SourceEnd: p.SourceEnd, Era: t.Era, Verb: verbOf(t), SwitchingOver: t.SwitchingOver,
		SourceObeys: obedience(t), Class: t.Class}
}

// verbOf is what ends or ended the mirroring; empty while it goes on.
func verbOf(t messages.DescribeClusterMirrorsResponseTopic) string {
	if t.Phase == "STOPPING" || t.Phase == "STOPPED" {
		return t.Verb
	}
	return ""
}

// obedience is what the old source says of a failover; empty when there was none.
func obedience(t messages.DescribeClusterMirrorsResponseTopic) string {
	switch {
	case verbOf(t) != "failover":
		return ""
	case t.TellingSource:
		return "not answered"
	case t.SourceObeys == 1:
		return "yes"
	case t.SourceObeys == 2:
		return "no"
	default:
		return "not asked"
	}
}

func printPartitions(w io.Writer, rows []describeRow) {
	t := table{heads: []string{"MIRROR", "TOPIC", "PARTITION", "SOURCE-OFFSET", "DESTINATION-OFFSET", "LAG", "STATE", "ZERO-RPO-FROM", "ERROR"},
		limits: []int{30, 40, 10, 15, 18, 10, 24, 15, 0}, names: []int{0, 1, 6}, spare: []int{7, 4, 3}}
	for _, r := range rows {
		from := "-"
		if r.Armed {
			from = number(r.ZeroRPOFrom)
		}
		t.add(r.Mirror, r.Topic, strconv.Itoa(int(r.Partition)), number(r.SourceOffset), number(r.DestinationOffset), number(r.Lag), r.State, from, r.ErrorMessage)
	}
	t.print(w)
}

func printFailed(w io.Writer, rows []describeRow) {
	if len(rows) == 0 {
		fmt.Fprintln(w, "No failed partitions found")
		return
	}
	t := table{heads: []string{"MIRROR", "TOPIC", "PARTITION", "RETRY", "ERROR"}, limits: []int{30, 40, 10, 14, 80}, names: []int{0, 1}}
	for _, r := range rows {
		retry := strconv.Itoa(int(r.RetryAttempt))
		if r.RetryAttempt < 0 {
			retry = "NonRetryable"
		}
		t.add(r.Mirror, r.Topic, strconv.Itoa(int(r.Partition)), retry, r.ErrorMessage)
	}
	t.print(w)
}

// listRow is one mirror as JSON.
type listRow struct {
	Mirror          string   `json:"mirror"`
	Topics          []string `json:"topics"`
	SourceClusterID string   `json:"sourceClusterId"`
	SourceBootstrap string   `json:"sourceBootstrap"`
}

func (c *mirrorsCommand) list(ctx context.Context, w io.Writer, cl *admin.Client) error {
	mirrors, err := cl.List(ctx)
	if err != nil {
		return err
	}
	rows := []listRow{}
	t := table{heads: []string{"MIRROR", "TOPICS", "SOURCE-CLUSTER-ID", "SOURCE-BOOTSTRAP-SERVER"}, limits: []int{30, 10, 26, 50}, names: []int{0, 2}}
	for _, m := range mirrors {
		rows = append(rows, listRow{m.MirrorName, m.TopicNames, m.SourceClusterId, m.SourceBootstrap})
		t.add(m.MirrorName, strconv.Itoa(int(m.TopicCount)), m.SourceClusterId, m.SourceBootstrap)
	}
	switch {
	case c.JSON:
		return printJSON(w, rows)
	case len(rows) == 0:
		fmt.Fprintln(w, "No mirrors found")
	default:
		t.print(w)
	}
	return nil
}

// until polls the destination and shows one line per change of state.
func (c *mirrorsCommand) until(ctx context.Context, w io.Writer, cl *admin.Client, topics []string, next string, reached func(messages.DescribeClusterMirrorsResponseTopic) bool) error {
	deadline := time.Now().Add(c.Timeout)
	shown := map[string]string{}
	for {
		mirrors, err := cl.Describe(ctx, c.Mirror)
		if err != nil {
			return err
		}
		left := map[string]bool{}
		for _, name := range topics {
			left[name] = true
		}
		for _, m := range mirrors {
			for _, t := range m.Topics {
				if !left[t.TopicName] {
					continue
				}
				if shown[t.TopicName] != t.State {
					shown[t.TopicName] = t.State
					fmt.Fprintf(w, "%s: %s\n", printable(t.TopicName), printable(t.State))
				}
				if reached(t) {
					delete(left, t.TopicName)
				}
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			var names []string
			for name := range left {
				names = append(names, name+" ("+shown[name]+")")
			}
			sort.Strings(names)
			return fmt.Errorf("%w after %s: %s\n%s", errUnwanted, c.Timeout, strings.Join(names, ", "), next)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// goesOn ends a --wait that ran out of time.
const goesOn = "it goes on by itself; --describe shows what it waits for"

// settled is where --wait ends. PARTIAL and UNCONFIRMED topics are of type SYNC, and their zero RPO is not confirmed. A
// DEMOTING topic is of type ASYNC, and producers at the source may still wait for it.
func settled(t messages.DescribeClusterMirrorsResponseTopic, kind int8) bool {
	if kind == admin.Sync {
		return t.EffectiveMirrorType == kind && t.Phase == "SYNC" && !t.Partial && !t.Unconfirmed
	}
	return t.EffectiveMirrorType == kind && t.Phase != "" && t.Phase != "DEMOTING"
}

func stopped(t messages.DescribeClusterMirrorsResponseTopic) bool {
	for _, p := range t.Partitions {
		if p.StateValue != "STOPPED" {
			return false
		}
	}
	return len(t.Partitions) > 0
}

func number(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func instant(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
