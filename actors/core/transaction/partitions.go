package transaction

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// add widens the open transaction, or begins one. Its answer is late: a batch that is appended on its strength must
// not outlive the knowledge that the transaction has its partition.
func (t *turn) add(c AddPartitions) {
	refuse := func(code perr.Code, text string) { t.reply(PartitionsAnswered{Ref: c.Ref, Code: code, Text: text}) }
	r := t.record
	switch {
	case c.ID == "":
		refuse(perr.InvalidRequest, "the transactional id is empty")
		return
	case r == nil || r.ProducerID != c.ProducerID && requireOwnProducer:
		refuse(perr.InvalidProducerIdMapping, "")
		return
	case r.Epoch != c.Epoch && fenceOlderEpochs:
		refuse(perr.ProducerFenced, "")
		return
	case r.phase().prepared():
		refuse(perr.ConcurrentTransactions, "the transaction before is decided and has not ended everywhere yet")
		return
	}
	missing, groups := t.lacks(c)
	if c.Verify {
		t.reply(PartitionsAnswered{Ref: c.Ref, Missing: missing, NoGroup: len(groups) > 0})
		return
	}
	if r.phase() == Ongoing && len(missing) == 0 && len(groups) == 0 {
		t.reply(PartitionsAnswered{Ref: c.Ref})
		return
	}
	ev := PartitionsAdded{ID: c.ID, Groups: groups, At: t.now.Wall}
	more := int64(0)
	for _, i := range missing {
		ev.Partitions = append(ev.Partitions, c.Partitions[i])
		more += c.Partitions[i].bytes()
	}
	for _, g := range groups {
		more += int64(groupCost + len(g))
	}
	if held := len(r.openGroups()) + len(groups); boundShards && len(groups) > 0 && held > maxGroups {
		refuse(perr.TransactionAbortable, fmt.Sprintf("the transaction of %s has offsets of %d groups already: end it first", c.ID, maxGroups))
		return
	}
	if code, text := t.s.noRoom(more); code != 0 {
		refuse(code, text)
		return
	}
	if r.phase() != Ongoing {
		t.deadline = t.now.Mono + int64(r.TimeoutMs)*ms
	}
	t.happen(ev)
	t.used()
	t.reply(PartitionsAnswered{Ref: c.Ref})
}

// openGroups are the groups of the open transaction; those of the one before do not count.
func (r *TransactionRecord) openGroups() []string {
	if r.phase() != Ongoing {
		return nil
	}
	return r.Groups
}

// lacks lists what the open transaction does not have: indexes of partitions, and groups, each once.
func (t *turn) lacks(c AddPartitions) (missing []int, groups []string) {
	has, asked := t.s.open[t.id], map[Target]bool{}
	for i, p := range c.Partitions {
		at := Target{Partition: core.PartitionID{Topic: p.Topic, Index: p.Partition}}
		if !has[at] && !asked[at] {
			asked[at] = !c.Verify // a partition that is asked about twice is missing twice
			missing = append(missing, i)
		}
	}
	for _, g := range c.Groups {
		if !has[Target{Group: g}] && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return missing, groups
}
