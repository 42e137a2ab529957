package main

import (
	"fmt"
	"io"
	"time"

	"lockstep/journal/quarantine"
)

type journalQuarantine struct {
	dataDirs
	JSON bool `name:"json" help:"As JSON."`
}

// Run lists the ranges of every directory. Their files hold record batches as they stood in the log.
func (c *journalQuarantine) Run(w io.Writer) error {
	rows := []quarantine.Range{}
	t := table{heads: []string{"TIME", "TOPIC-ID", "PARTITION", "FROM", "TO", "MIRROR", "SOURCE-EPOCH", "LEADER-EPOCH", "BYTES", "RESULT", "REASON", "FILE"}, names: []int{5}, spare: []int{8, 6, 7}, texts: 2}
	bad := 0
	for _, dir := range c.DataDir {
		list, err := quarantine.List(dir)
		if err != nil {
			return fmt.Errorf("--data-dir %s: %w", dir, err)
		}
		for _, r := range list {
			rows = append(rows, r)
			result := "intact"
			if r.Problem != "" {
				result, bad = r.Problem, bad+1
			}
			t.add(r.Time.Format(time.RFC3339), r.Topic, fmt.Sprint(r.Partition), fmt.Sprint(r.From), fmt.Sprint(r.To), r.Mirror,
				fmt.Sprint(r.SourceEpoch), fmt.Sprint(r.LeaderEpoch), fmt.Sprint(r.Bytes), result, r.Reason, r.Path)
		}
	}
	if c.JSON {
		if err := printJSON(w, rows); err != nil {
			return err
		}
	} else if len(rows) == 0 {
		fmt.Fprintln(w, "No truncation has cut anything out of a mirrored log")
	} else {
		t.print(w)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d ranges are %w", bad, len(rows), errUnwanted)
	}
	return nil
}
