package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/target"
)

// targetsCommand asks every destination of a lost source and says which of them to fail over to (ruling C15).
type targetsCommand struct {
	BootstrapServers []string      `name:"bootstrap-server" required:"" sep:"none" help:"Kafka listeners of one destination, host:port[,host:port]; once for each destination there is."`
	CommandConfig    string        `name:"command-config" type:"existingfile" help:"Client properties for this tool."`
	Topics           []string      `aliases:"topic" help:"Names or regular expressions, comma separated; each must match a whole name."`
	Timeout          time.Duration `default:"30s" help:"For each destination."`
	JSON             bool          `name:"json" help:"As JSON."`
}

// targetRow is one partition at one destination, as JSON. -1 means unknown.
type targetRow struct {
	Source      string `json:"source"`
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Cluster     string `json:"cluster"`
	Mirror      string `json:"mirror"`
	Class       string `json:"class"`
	SourceEpoch int32  `json:"sourceEpoch"`
	GatedIn     int32  `json:"gatedInEpoch"`
	Floor       int64  `json:"floor"`
	LogEnd      int64  `json:"logEnd"`
	ClaimTime   string `json:"claimTime"`
	Best        bool   `json:"best"`
	Reason      string `json:"reason"`

	said target.Candidate
}

// targetOf is the verdict about one topic.
type targetOf struct {
	topic, cluster, reason string
	partitions             int
}

func (c *targetsCommand) Run(w io.Writer) error {
	if err := checkPatterns(c.Topics); err != nil {
		return err
	}
	var rows []targetRow
	asked := map[string]string{}
	for _, servers := range c.BootstrapServers {
		cluster, found, err := c.ask(servers)
		if err != nil {
			return fmt.Errorf("destination %s: %w; leave it out only if it is lost as well", servers, err)
		}
		if before, twice := asked[cluster]; twice {
			return fmt.Errorf("--bootstrap-server %s and %s are one cluster, %s: name each destination once", before, servers, cluster)
		}
		asked[cluster] = servers
		rows = append(rows, found...)
	}
	verdicts := judge(rows)
	if c.JSON {
		if err := printJSON(w, rows); err != nil {
			return err
		}
	} else {
		printTargets(w, rows, verdicts)
	}
	if slices.ContainsFunc(verdicts, func(v targetOf) bool { return v.cluster == "" }) {
		return fmt.Errorf("there are topics without one best destination: %w", errUnwanted)
	}
	return nil
}

// ask is what one destination says of its mirrored partitions, without those it took over already.
func (c *targetsCommand) ask(servers string) (cluster string, rows []targetRow, err error) {
	cl, err := connect(servers, c.CommandConfig)
	if err != nil {
		return "", nil, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	if cluster, err = cl.ClusterID(ctx); err != nil {
		return "", nil, err
	}
	mirrors, err := cl.Describe(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, m := range mirrors {
		for _, t := range m.Topics {
			if t.Phase == "STOPPED" || !matches(c.Topics, t.TopicName) {
				continue
			}
			for _, p := range t.Partitions {
				rows = append(rows, targetRow{Source: m.SourceClusterId, Topic: t.TopicName, Partition: p.PartitionIndex, Cluster: cluster,
					Mirror: m.MirrorName, Class: previewOne(m.MirrorName, t, p).Class, SourceEpoch: p.SourceEpoch, GatedIn: p.GatedIn, Floor: p.Floor,
					LogEnd: p.DestinationOffset, ClaimTime: instant(t.ClaimTimeMs), said: target.Candidate{
						Cluster: core.ClusterID(cluster), Armed: p.Armed, Refused: p.Refused, Adopted: core.LeaderEpoch(p.SourceEpoch),
						GatedIn: core.LeaderEpoch(p.GatedIn), Floor: core.Offset(p.Floor), LogEnd: core.Offset(p.DestinationOffset), T: t.ClaimTimeMs,
					}})
			}
		}
	}
	return cluster, rows, nil
}

// judge sorts the rows, marks the best of each partition, and looks for one destination that is best for all of a topic.
// A topic that is split between two would be two histories of one topic, so no such choice is offered (F38).
func judge(rows []targetRow) (verdicts []targetOf) {
	slices.SortFunc(rows, func(a, b targetRow) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Cluster, b.Cluster))
	})
	for _, topic := range runs(rows, func(a, b targetRow) bool { return a.Source == b.Source && a.Topic == b.Topic }) {
		partitions := runs(topic, func(a, b targetRow) bool { return a.Partition == b.Partition })
		v := targetOf{topic: topic[0].Topic, partitions: len(partitions)}
		wins := map[string]int{} // partitions for which a cluster is best
		doubt := ""
		for _, candidates := range partitions {
			chosen := choose(candidates)
			v.reason = cmp.Or(v.reason, chosen.Reason)
			for _, i := range chosen.Best {
				wins[candidates[i].Cluster]++
			}
			if len(chosen.Best) == 0 {
				doubt = cmp.Or(doubt, chosen.Reason)
			}
		}
		for _, cluster := range slices.Sorted(maps.Keys(wins)) {
			if wins[cluster] == len(partitions) && v.cluster == "" {
				v.cluster = cluster
			}
		}
		if v.cluster == "" {
			v.reason = cmp.Or(doubt, "different destinations are best for different partitions: compare them below, and take one for the whole topic")
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func choose(candidates []targetRow) target.Verdict {
	said := make([]target.Candidate, 0, len(candidates))
	for _, r := range candidates {
		said = append(said, r.said)
	}
	v := target.Choose(said)
	for i := range candidates {
		candidates[i].Best, candidates[i].Reason = slices.Contains(v.Best, i), v.Reason
	}
	return v
}

// runs cuts sorted rows where neighbours are not the same.
func runs(rows []targetRow, same func(a, b targetRow) bool) (list [][]targetRow) {
	for from, i := 0, 1; i <= len(rows); i++ {
		if i == len(rows) || !same(rows[i-1], rows[i]) {
			list = append(list, rows[from:i])
			from = i
		}
	}
	return list
}

func printTargets(w io.Writer, rows []targetRow, verdicts []targetOf) {
	if len(rows) == 0 {
		fmt.Fprintln(w, "No destination mirrors a topic that matches")
		return
	}
	topics := table{heads: []string{"TOPIC", "PARTITIONS", "FAIL-OVER-TO", "WHY"}, limits: []int{40, 10, 30, 120}, names: []int{0, 2}}
	for _, v := range verdicts {
		topics.add(v.topic, strconv.Itoa(v.partitions), cmp.Or(v.cluster, "(people must choose)"), v.reason)
	}
	topics.print(w)
	fmt.Fprintln(w)
	t := table{heads: []string{"TOPIC", "PARTITION", "CLUSTER", "BEST", "CLASS", "SOURCE-EPOCH", "GATED-IN", "FLOOR", "LOG-END", "T"},
		limits: []int{40, 10, 24, 4, 8, 12, 8, 12, 12, 24}, names: []int{0, 2}, spare: []int{6, 8}}
	for _, r := range rows {
		best := ""
		if r.Best {
			best = "*"
		}
		t.add(r.Topic, strconv.Itoa(int(r.Partition)), r.Cluster, best, r.Class, number(int64(r.SourceEpoch)), number(int64(r.GatedIn)), number(r.Floor), number(r.LogEnd), r.ClaimTime)
	}
	t.print(w)
}
