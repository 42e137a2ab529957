package main

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/journal/audit"
	"lockstep/journal/log"
	"lockstep/journal/quorum"
)

// topicID turns --topic into the id that streams are named by, from what the control stream says.
func (c *journalDump) topicID() (string, error) {
	if c.Topic == "" {
		return "", nil
	}
	ids := map[string]string{} // name → newest id of that name
	known := map[string]bool{}
	partitions := map[string]int{} // by id
	learn := func(id core.TopicID, name string, n int) {
		ids[name], known[id.String()], partitions[id.String()] = id.String(), true, n
	}
	for _, dir := range c.DataDir {
		err := audit.Dump(dir, "control/controller", func(e audit.Entry) error {
			switch e.Type {
			case log.RecordEntry:
				ev, err := controller.DecodeEvent(e.Entry.Payload)
				if err != nil {
					return err
				}
				switch ev := ev.(type) {
				case controller.TopicCreated:
					learn(ev.Topic.Topic, ev.Topic.Name, len(ev.Topic.Partitions))
				case controller.PartitionsAdded:
					for _, p := range ev.Partitions {
						partitions[ev.Topic.String()] = max(partitions[ev.Topic.String()], int(p.Index)+1)
					}
				default: // nothing about which topics there are
				}
			case log.RecordSnapshot:
				return learnSnapshot(e.Entry.Payload, learn)
			case log.RecordDrop, log.RecordSegments:
			}
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("look for topic %s in %s: %w", c.Topic, dir, err)
		}
	}
	id, named := ids[c.Topic]
	if !named && known[c.Topic] {
		id, named = c.Topic, true
	}
	if n := partitions[id]; named && n > 0 && int(c.Partition) >= n {
		return "", fmt.Errorf("topic %s has no partition %d in these journals: it has %d, from 0 to %d", c.Topic, c.Partition, n, n-1)
	}
	if named {
		return id, nil
	}
	names := make([]string, 0, len(ids))
	for name := range ids {
		names = append(names, name)
	}
	sort.Strings(names)
	if len(names) == 0 {
		return "", fmt.Errorf("no topic %s in these journals: they know none; give the --data-dir of another broker too", c.Topic)
	}
	return "", fmt.Errorf("no topic %s in these journals; they know: %s", c.Topic, strings.Join(names, ", "))
}

func learnSnapshot(payload []byte, learn func(core.TopicID, string, int)) error {
	snap, err := quorum.ParseSnapshot(payload)
	if err != nil || snap.Absent {
		return err
	}
	state, err := controller.Machine().Restore("controller", snap.State)
	if err != nil {
		return err
	}
	for _, fact := range state.Facts() {
		if t, ok := fact.(image.TopicChanged); ok {
			learn(t.Topic.ID, t.Topic.Name, len(t.Topic.Partitions))
		}
	}
	return nil
}

// holder is one replica that has the record in its log.
type holder struct {
	Cluster string   `json:"cluster"`
	Broker  int32    `json:"broker"`
	DataDir string   `json:"dataDir"`
	Batch   batchRow `json:"batch"`
}

// explanation is the audit's answer for one record.
type explanation struct {
	Topic     string                           `json:"topic"`
	Partition int32                            `json:"partition"`
	Offset    int64                            `json:"offset"`
	Verdict   string                           `json:"verdict"`
	Entry     *highwater.HighWatermarkAdvanced `json:"entry"`
	Mode      string                           `json:"mode"`
	Holders   []holder                         `json:"holders"`
	Deletions []deletion                       `json:"deletions"`
	Compacted []compacted                      `json:"compacted"`
}

// explain answers, for one record: which ledger entry released its ack, under which set of replicas and
// mirrors, and which of the given directories hold it.
func (c *journalDump) explain(w io.Writer, topic string) error {
	out := explanation{Topic: c.Topic, Partition: c.Partition, Offset: c.Offset, Holders: []holder{}, Deletions: []deletion{}, Compacted: []compacted{}}
	partition := fmt.Sprintf("partition/%s/%d/", topic, c.Partition)
	ledger := fmt.Sprintf("ledger/%s/%d", topic, c.Partition)
	for _, dir := range c.DataDir {
		found, meta, starts := held{}, audit.Entry{}, logStart{}
		if err := audit.Dump(dir, "", func(e audit.Entry) error {
			switch {
			case strings.HasPrefix(string(e.Stream), partition):
				meta.Broker = e.Broker
				if err := starts.consider(e); err != nil || e.Type != log.RecordEntry {
					return err
				}
				return found.consider(e, c.Offset)
			case string(e.Stream) == ledger && e.Type == log.RecordEntry:
				return c.consider(e, &out)
			}
			return nil
		}); err != nil {
			return err
		}
		report, err := audit.Verify(dir)
		if err != nil {
			return err
		}
		if starts.at > core.Offset(c.Offset) {
			found = held{} // its bytes may still lie there, in a batch or a segment that goes later
			out.Deletions = append(out.Deletions, deletion{string(report.Volumes[0].Meta.Cluster), int32(meta.Broker), dir, int64(starts.at), starts.why, starts.when})
		}
		if found.compacted {
			out.Compacted = append(out.Compacted, compacted{string(report.Volumes[0].Meta.Cluster), int32(meta.Broker), dir})
		}
		for _, b := range found.batch {
			out.Holders = append(out.Holders, holder{string(report.Volumes[0].Meta.Cluster), int32(meta.Broker), dir, b})
		}
	}
	out.Verdict = verdict(out)
	if c.JSON {
		if err := printJSON(w, out); err != nil {
			return err
		}
	} else {
		printExplanation(w, out)
	}
	if out.Entry == nil {
		return fmt.Errorf("the record is %w: %s", errUnwanted, unproven(out))
	}
	return nil
}

// modes are the names of what a ledger entry says in a byte.
var modes = map[int8]string{0: "LOCAL", 1: "SYNC", 2: "RELEASED"}

// consider takes the first entry that covers the offset: by (epoch, offset), over all ledgers given. A
// destination's ledger follows the source's HW, so the source's own SYNC entry says more.
func (c *journalDump) consider(e audit.Entry, out *explanation) error {
	ev, err := highwater.DecodeEvent(e.Entry.Payload)
	if err != nil {
		return err
	}
	moved, ok := ev.(highwater.HighWatermarkAdvanced)
	if !ok || moved.From > core.Offset(c.Offset) || moved.To <= core.Offset(c.Offset) {
		return nil
	}
	mode := modes[moved.Mode]
	if out.Entry == nil || mode == "SYNC" && out.Mode != mode || mode == out.Mode && moved.LeaderEpoch < out.Entry.LeaderEpoch {
		out.Entry, out.Mode = &moved, mode
	}
	return nil
}

// unproven says where the proof may be.
func unproven(e explanation) string {
	if len(e.Holders) == 0 && len(e.Deletions) > 0 {
		return "its log begins above it, and nothing here proves that it was acknowledged before it was deleted; give the --data-dir of every broker"
	}
	if len(e.Holders) == 0 {
		return "nothing here proves that it exists; look at the partition and offset, and give the --data-dir of every broker"
	}
	return "the replicas above hold it, and nothing here proves that it was acknowledged; give the --data-dir of every broker. " +
		"If this cluster mirrors the topic, the entry that released the ack is in the journals of the source"
}

func verdict(e explanation) string {
	gone := ""
	if len(e.Holders) == 0 && len(e.Deletions) > 0 {
		gone = "; DELETED since"
	} else if len(e.Holders) == 0 && len(e.Compacted) > 0 {
		gone = "; COMPACTED since"
	}
	switch {
	case e.Entry == nil && len(e.Compacted) > 0 && len(e.Holders)+len(e.Deletions) == 0:
		return "COMPACTED: a newer record of its key took its place, it was a tombstone whose time was over, or it was aborted; no ledger entry here covers it"
	case e.Entry == nil && gone != "":
		return "DELETED: the log begins above it, and no ledger entry here covers it"
	case e.Entry == nil && len(e.Holders) == 0:
		return "UNKNOWN: no replica here holds the record and no ledger entry covers it"
	case e.Entry == nil:
		return "UNKNOWN: no durable ledger entry covers the record; it may have been acknowledged after the last one"
	case reported(e.Entry) != "":
		return "COMMITTED under " + e.Mode + ", UNPROVEN: " + reported(e.Entry) + gone
	default:
		return "COMMITTED under " + e.Mode + gone
	}
}

// reported names the mirrors whose part of an acknowledgement rests on their word alone (R14).
func reported(e *highwater.HighWatermarkAdvanced) string {
	var names []string
	for _, g := range e.Gates {
		if g.Class == int8(mirror.ClassUnsynced) {
			return "a cluster ran with durability=os, so what mirror " + string(g.Mirror) + " or the source held may have been in a page cache alone"
		}
		if g.Class == int8(mirror.ClassReported) {
			names = append(names, string(g.Mirror))
		}
	}
	if names == nil {
		return ""
	}
	return "mirror " + strings.Join(names, ", ") + " holds it as reported by the peer, which proves one copy, in the log of its leader"
}

func printExplanation(w io.Writer, e explanation) {
	fmt.Fprintf(w, "%s/%d offset %d: %s\n", e.Topic, e.Partition, e.Offset, e.Verdict)
	if e.Entry != nil {
		fmt.Fprintf(w, "\nreleased by: HW %d -> %d in leader epoch %d, stamp %d, at %s\n", e.Entry.From, e.Entry.To, e.Entry.LeaderEpoch, e.Entry.Stamp, instant(e.Entry.WallMs))
		t := table{heads: []string{"PARTICIPANT", "DURABLE-BELOW"}, limits: []int{84}}
		for _, r := range e.Entry.Replicas {
			t.add(fmt.Sprintf("local broker %d", r.Replica), fmt.Sprint(r.LEO))
		}
		for _, g := range e.Entry.Gates {
			if g.Class == int8(mirror.ClassReported) {
				t.add(fmt.Sprintf("mirror %s, as reported by the peer (registration %d)", g.Mirror, g.Epoch), fmt.Sprint(g.Floor))
				continue
			}
			t.add(fmt.Sprintf("every in-sync replica of cluster %s (mirror %s, registration %d)", g.Cluster, g.Mirror, g.Epoch), fmt.Sprint(g.Floor))
		}
		t.print(w)
	}
	fmt.Fprintln(w)
	t := table{heads: []string{"HELD-BY", "BATCH", "LEADER-EPOCH", "PRODUCER", "DATA-DIR"}, names: []int{0}}
	for _, h := range e.Holders {
		t.add(fmt.Sprintf("%s/%d", h.Cluster, h.Broker), fmt.Sprintf("%d-%d", h.Batch.Base, h.Batch.Last), fmt.Sprint(h.Batch.LeaderEpoch),
			fmt.Sprintf("%d/%d/%d", h.Batch.ProducerID, h.Batch.ProducerEpoch, h.Batch.BaseSequence), h.DataDir)
	}
	t.print(w)
	printDeletions(w, e.Deletions)
	printCompacted(w, e.Compacted)
}
