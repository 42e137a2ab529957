package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
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
			fmt.Fprintf(w, "Warning: topic %s: pending lag drain (%s): it stays ASYNC, and is promoted by itself once its lag is zero and the source gates\n", printable(t.TopicName), behind(t.Partitions, "lag not known yet"))
		}
	}
	return nil
}

// behind is how many records partitions lack together, or unknown if one of them does not know.
func behind(partitions []messages.DescribeClusterMirrorsResponsePartition, unknown string) string {
	lag := int64(0)
	for _, p := range partitions {
		if p.Lag < 0 {
			return unknown
		}
		lag += p.Lag
	}
	return fmt.Sprintf("%d records behind", lag)
}
