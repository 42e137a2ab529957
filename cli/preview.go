package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// previewRow is what would be kept of one partition, as JSON. -1 means unknown.
type previewRow struct {
	Mirror       string `json:"mirror"`
	Topic        string `json:"topic"`
	Partition    int32  `json:"partition"`
	Class        string `json:"class"`
	SourceEpoch  int32  `json:"sourceEpoch"`
	Floor        int64  `json:"floor"`
	LogEnd       int64  `json:"logEnd"`
	SourceOffset int64  `json:"sourceOffset"`
	ZeroRPOFrom  int64  `json:"zeroRpoFrom"`
	ClaimTime    string `json:"claimTime"`
	State        string `json:"state"`
	Era          int64  `json:"era"`
	Kept         string `json:"kept"`
}

// preview says what a verb would keep, from what this cluster knows now, and does nothing.
func (c *mirrorsCommand) preview(ctx context.Context, w io.Writer, cl *admin.Client) error {
	mirrors, err := cl.Describe(ctx, c.Mirror)
	if err != nil {
		return err
	}
	rows := []previewRow{}
	notes := map[string]string{}
	for _, m := range mirrors {
		for _, t := range m.Topics {
			if !c.matches(t.TopicName) || t.Phase == "STOPPED" {
				continue
			}
			if text := c.objection(t); text != "" {
				notes[t.TopicName] = text
			}
			for _, p := range t.Partitions {
				rows = append(rows, previewOne(m.MirrorName, t, p))
			}
		}
	}
	if c.JSON {
		return printJSON(w, rows)
	}
	if len(rows) == 0 {
		fmt.Fprintf(w, "No topic of mirror %s that matches is still mirrored\n", c.Mirror)
		return nil
	}
	t := table{heads: []string{"TOPIC", "PARTITION", "CLASS", "SOURCE-EPOCH", "FLOOR", "LOG-END", "SOURCE-OFFSET", "T", "KEPT"}, limits: []int{40, 10, 8, 12, 12, 12, 13, 24, 120}, names: []int{0}, spare: []int{3, 6}}
	shown := map[string]bool{}
	for _, r := range rows {
		t.add(r.Topic, strconv.Itoa(int(r.Partition)), r.Class, number(int64(r.SourceEpoch)), number(r.Floor), number(r.LogEnd), number(r.SourceOffset), r.ClaimTime, r.Kept)
	}
	t.print(w)
	for _, r := range rows {
		if text := notes[r.Topic]; text != "" && !shown[r.Topic] {
			shown[r.Topic] = true
			fmt.Fprintf(w, "Topic %s: %s\n", printable(r.Topic), printable(text))
		}
	}
	return nil
}

// objection is what would be refused or should be thought over.
func (c *mirrorsCommand) objection(t messages.DescribeClusterMirrorsResponseTopic) string {
	switch {
	case t.Phase == "STOPPING":
		return "is being stopped already: " + t.State
	case c.Switchover && t.Phase != "SYNC":
		return "a switchover would be refused: it is " + t.State + ", not SYNC"
	case c.Switchover && (t.Unconfirmed || t.Partial):
		return "a switchover would be refused: " + t.State
	case c.Failover && t.Phase == "SYNC" && !t.Unconfirmed:
		return "its source answered a moment ago: if it still does, --switchover loses nothing"
	}
	return ""
}

func previewOne(mirror string, t messages.DescribeClusterMirrorsResponseTopic, p messages.DescribeClusterMirrorsResponsePartition) previewRow {
	row := previewRow{Mirror: mirror, Topic: t.TopicName, Partition: p.PartitionIndex, Class: "UNARMED", SourceEpoch: p.SourceEpoch, Floor: p.Floor,
		LogEnd: p.DestinationOffset, SourceOffset: p.SourceOffset, ZeroRPOFrom: p.ZeroRpoFrom, ClaimTime: instant(t.ClaimTimeMs), State: t.State, Era: t.Era}
	switch {
	case t.ZeroRpo && p.Armed:
		row.Class = "ARMED"
		row.Kept = "every acks=all record acknowledged until now (RPO 0: the source releases after the claim lease only)"
	case p.Armed && t.ClaimTimeMs > 0:
		row.Class = "ARMED"
		row.Kept = "every acks=all record acknowledged up to T, and all later ones unless the source released this mirror after T"
	case p.Armed:
		row.Class = "ARMED"
		row.Kept = "every acks=all record since the source gates on this partition"
	case p.Lag == 0:
		row.Kept = "all that the source had in its newest answer; acknowledgements were not gated"
	case p.Lag > 0:
		row.Kept = fmt.Sprintf("all but %d records of what the source had in its newest answer; acknowledgements were not gated", p.Lag)
	default:
		row.Kept = "what is here; the source has not answered since the start of this process"
	}
	return row
}
