package broker

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// Whatever ends zero RPO, or mirroring itself, is a warning that somebody reads at night: which mirror, which
// topic, why, and what to do.

// warnOfMirror observes the events of one mirror of this destination.
func (c *Cluster) warnOfMirror(name core.MirrorName, ev mirror.Event) {
	warn := func(what string, topic core.TopicID, why, next string, more ...any) {
		c.warn(what, append([]any{"mirror", string(name), "topic", c.topicName(topic), "why", why, "next", next}, more...)...)
	}
	describe := fmt.Sprintf("clusterctl mirrors --describe --mirror %s", name)
	switch e := ev.(type) {
	case mirror.TopicUnclaimed:
		switch {
		case e.ByOperator():
			warn("topic is not SYNC any more", e.Topic, "an operator of this cluster set it to ASYNC",
				"nothing, if that was meant; else clusterctl mirrors --alter --sync")
		case e.Release != 0:
			warn("topic is not SYNC any more: released by its source", e.Topic, e.Text,
				"nothing: it catches up and returns to SYNC by itself; until then a failover to this copy may lose records; see "+describe, "release", int64(e.Release))
		case e.DataReset():
			warn("topic is not SYNC any more: its data began anew", e.Topic, e.Text,
				"look at what was cut with clusterctl journal quarantine; it returns to SYNC by itself")
		default:
			warn("topic is not SYNC any more", e.Topic, e.Text,
				"it tries again by itself; if that does not help, see its registration at the source and "+describe)
		}
	case mirror.PartitionBroken:
		if e.Diverged {
			warn("partition is DIVERGED and not mirrored any more; its data is kept", e.Topic, e.Text,
				"find out what the source lost; then open this copy with --stop, or delete the topic here and start it again", "partition", int(e.Partition))
			return
		}
		warn("partition FAILED and is not mirrored any more; its data is kept", e.Topic, e.Text,
			"repair what the source sends, or open this copy with --stop; --stop and --start begin anew", "partition", int(e.Partition))
	case mirror.TopicOrphaned:
		warn("topic is ORPHANED: its source no longer has it; the copy is kept and not mirrored any more", e.Topic, e.Text,
			"open this copy with --stop, --recover it if the source has it again, or delete it here and start the topic that has the name now")
	case mirror.TopicFailed:
		warn("topic FAILED and is not mirrored any more; its data is kept", e.Topic, e.Text,
			"open this copy with --stop, or remove the cause and --recover it")
	default: // the line of the event itself says enough
	}
}

// warnOfRegistration observes the ledger of this source.
func (c *Cluster) warnOfRegistration(ev registration.Event) {
	switch e := ev.(type) {
	case registration.MirrorReleased:
		var names []string
		for _, id := range e.Topics {
			names = append(names, c.topicName(id))
		}
		what := "mirror released: acknowledgements do not wait for it any more"
		if e.AfterLease {
			what = "mirror released: acknowledgements wait for it until its cluster has heard of that or its claim lease is over"
		}
		c.warn(what, "mirror", string(e.Mirror), "cluster", string(e.Cluster), "topics", names,
			"why", fmt.Sprintf("an operator of this cluster released it (release %d)", e.Number),
			"next", fmt.Sprintf("repair cluster %s: it registers again by itself; until then a failover to it may lose records", e.Cluster))
	case registration.ReleaseEnded:
		var names []string
		for _, id := range e.Topics {
			names = append(names, c.topicName(id))
		}
		c.warn("mirror let go: acknowledgements do not wait for it any more", "mirror", string(e.Mirror), "cluster", string(e.Cluster), "topics", names,
			"why", "it was released after its claim lease, which is over or was given up by its cluster",
			"next", fmt.Sprintf("repair cluster %s: it registers again by itself; until then a failover to it may lose records", e.Cluster))
	case registration.TopicUnregistered:
		c.warn("mirror left: acknowledgements of the topic do not wait for it any more", "mirror", string(e.Mirror), "cluster", string(e.Cluster),
			"topic", c.topicName(e.Topic), "why", fmt.Sprintf("cluster %s withdrew its registration", e.Cluster),
			"next", fmt.Sprintf("if it was not stopped or set to ASYNC there, see its log and clusterctl mirrors --describe --mirror %s on cluster %s", e.Mirror, e.Cluster))
	default: // the line of the event itself says enough
	}
}

func (c *Cluster) warn(what string, attrs ...any) {
	c.system.Logger.Warn(what, attrs...)
}

// topicName is what people call a topic; its id when the image does not have it.
func (c *Cluster) topicName(id core.TopicID) string {
	if t, ok := c.Newest().Topic(id); ok {
		return t.Name
	}
	return id.String()
}
