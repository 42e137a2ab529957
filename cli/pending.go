package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"lockstep/protocol/admin"
)

// pending warns of topics that were set to SYNC and have to catch up first: a deferred promotion is a success, and
// must not look like one that is done (KIP, AlterMirrorTopicType).
func (c *mirrorsCommand) pending(ctx context.Context, w io.Writer, cl *admin.Client, topics []string) error {
	mirrors, err := cl.Describe(ctx, c.Mirror)
	if err != nil {
		return err
	}
	for _, m := range mirrors {
		for _, t := range m.Topics {
			if !slices.Contains(topics, printable(t.TopicName)) || t.EffectiveMirrorType == admin.Sync {
				continue
			}
			lag, unknown := int64(0), false
			for _, p := range t.Partitions {
				lag += max(0, p.Lag)
				unknown = unknown || p.Lag < 0
			}
			behind := fmt.Sprintf("%d records behind", lag)
			if unknown {
				behind = "lag not known yet"
			}
			fmt.Fprintf(w, "Warning: topic %s: pending lag drain (%s): it stays ASYNC, and is promoted by itself once its lag is zero and the source gates\n", printable(t.TopicName), behind)
		}
	}
	return nil
}
