package fetcher

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// question is one partition of a divergence check.
type question struct {
	id      core.PartitionID
	topic   string
	attempt uint64
	epoch   core.LeaderEpoch // the source epoch that is to be adopted; every request is fenced with it
	last    core.LeaderEpoch // latest epoch in our log
	next    core.Offset
	adopted core.LeaderEpoch // the source epoch our log stands under, NoEpoch if it is a new leader's
	hw      core.Offset
	epochs  []partition.EpochStart // of our log
	begin   core.Offset            // log start of ours
}

// check is what the source says of one partition.
type check struct {
	question
	code      perr.Code
	text      string
	endEpoch  core.LeaderEpoch
	endOffset core.Offset
	start     core.Offset
	stated    bool
	unclean   core.LeaderEpoch
	source    core.Incarnation // of the source that counted the epoch; zero: it states none
	differs   bool             // the source has another record where the common history ends
	begins    core.Offset      // the source's epoch, of a source that states nothing; Unknown: not learned
}

// dueChecks moves every cursor that needs a check, and may have one now, to aligning.
func (f *fetcher) dueChecks(now time.Time) []question {
	var list []question
	for id, c := range f.cursors {
		if c.phase != unaligned || now.Before(c.until) {
			continue
		}
		view, ok := f.mirror.home().View(id)
		if !ok {
			c.fail(now, perr.NotLeaderOrFollower, "no replica of this cluster leads the partition")
			c.until = now.Add(c.pause.next(localPace))
			f.mirror.reports.failing(c, f.mono())
			continue
		}
		if f.waitsForNewer(c, view, now) {
			continue
		}
		c.phase = aligning
		c.next, c.last = view.LEO, core.NoEpoch
		for _, e := range view.Epochs {
			if e.Start < view.LEO || view.LEO == view.LogStart { // of an emptied log the source may have lost the end
				c.last = e.Epoch
			}
		}
		if c.agreed != core.NoEpoch {
			// The partition actor named the epoch to ask for next; its view may lag behind it.
			c.last = c.agreed
		}
		f.mirror.count.alignments.Add(1)
		q := question{id: id, topic: c.Topic, attempt: c.attempt, epoch: c.SourceEpoch, last: c.last, next: c.next, adopted: view.Adopted, hw: view.HW,
			epochs: view.Epochs, begin: view.LogStart}
		list = append(list, q)
	}
	return list
}

// waitsForNewer is for the first metadata of a run, which may come from a broker that lags: what it states is lower than
// what the run before had mirrored, and to ask under it would make the copy DIVERGED. A source that was really restored
// goes on stating it (R3).
func (f *fetcher) waitsForNewer(c *cursor, view partition.View, now time.Time) bool {
	if !view.Mirroring || c.SourceEpoch >= view.Adopted || c.Accept || now.Sub(c.Since) >= lowerAfter || !lowerEpochMustLast {
		return false
	}
	c.fail(now, perr.FencedLeaderEpoch, fmt.Sprintf("the source's metadata states leader epoch %d, and epoch %d was mirrored already: waiting %s for newer metadata",
		c.SourceEpoch, view.Adopted, lowerAfter))
	c.until = now.Add(c.pause.next(epochPace))
	f.mirror.reports.failing(c, f.mono())
	f.mirror.refresh()
	return true
}

// check asks where our last epochs end at the source, where its log begins, and what it states of unclean
// elections. The three requests are fenced with the same epoch; a partition is answered only if all agree.
func (l *line) check(ctx context.Context, m *mirrorRun, addr string, list []question) ([]check, error) {
	ctx, cancel := context.WithTimeout(ctx, m.config.RequestTimeout)
	defer cancel()
	conn, err := l.open(ctx, m, addr)
	if err != nil {
		return nil, err
	}
	results := map[core.PartitionID]*check{}
	for _, q := range list {
		results[q.id] = &check{question: q, endEpoch: core.NoEpoch, unclean: core.NoEpoch, start: core.Unknown, begins: core.Unknown}
	}
	err = askEnds(ctx, conn, m, list, results)
	if err == nil {
		err = askStarts(ctx, conn, m, list, results)
	}
	fetch := min(conn.newest(messages.KeyFetch), syncFetchVersion)
	if err == nil && fetch >= fetchByID {
		err = askUnclean(ctx, conn, m, fetch, list, results)
	}
	if err == nil && fetch == syncFetchVersion {
		err = askBeginnings(ctx, conn, m, list, results)
	}
	if err != nil {
		l.close()
		m.count.requestFailures.Add(1)
		return nil, err
	}
	out := make([]check, 0, len(list))
	for _, q := range list {
		out = append(out, *results[q.id])
	}
	return out, nil
}

// fetchByID is the first version of Fetch that names topics by their ids.
const fetchByID = 13

// unanswered is what a partition keeps that the source left out of an answer.
const unanswered = "the source's answer leaves the partition out"

// askEnds sends OffsetForLeaderEpoch. A log without records has no epoch to ask for: the source knows
// nothing we know, and there is nothing to cut.
func askEnds(ctx context.Context, conn *conn, m *mirrorRun, list []question, results map[core.PartitionID]*check) error {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = min(4, conn.newest(req.Key()))
	if req.Version < 2 {
		return tooOld("OffsetForLeaderEpoch", req.Version, 2)
	}
	req.ReplicaID = -1
	at := map[string]int{}
	for _, q := range list {
		if q.last == core.NoEpoch {
			continue
		}
		i, ok := at[q.topic]
		if !ok {
			i = len(req.Topics)
			at[q.topic] = i
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = q.topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = q.id.Index, int32(q.epoch), int32(q.last)
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
		results[q.id].code, results[q.id].text = perr.UnknownServerError, unanswered
	}
	if len(req.Topics) == 0 {
		return nil
	}
	resp, err := do[*kmsg.OffsetForLeaderEpochResponse](ctx, conn, req)
	if err != nil {
		return err
	}
	ids := topicIDs(list)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			r := results[core.PartitionID{Topic: ids[t.Topic], Index: p.Partition}]
			if r == nil || r.last == core.NoEpoch {
				m.count.foreign.Add(1)
				continue
			}
			r.code, r.text = perr.Code(p.ErrorCode), ""
			r.endEpoch, r.endOffset = core.LeaderEpoch(p.LeaderEpoch), core.Offset(p.EndOffset)
			if r.code == 0 && (r.endEpoch < 0 || r.endOffset < 0) {
				r.endEpoch, r.endOffset = core.NoEpoch, 0
			}
			if r.code == 0 && r.endEpoch > r.last {
				r.code, r.text = perr.UnknownServerError, fmt.Sprintf("asked where epoch %d ends, the source answers for epoch %d", r.last, r.endEpoch)
			}
		}
	}
	return nil
}

// askStarts sends ListOffsets for the log start.
func askStarts(ctx context.Context, conn *conn, m *mirrorRun, list []question, results map[core.PartitionID]*check) error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = min(7, conn.newest(req.Key()))
	if req.Version < 4 {
		return tooOld("ListOffsets", req.Version, 4)
	}
	req.ReplicaID = -1
	at := map[string]int{}
	for _, q := range list {
		r := results[q.id]
		if r.code != 0 {
			continue
		}
		i, ok := at[q.topic]
		if !ok {
			i = len(req.Topics)
			at[q.topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = q.topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.Timestamp = q.id.Index, int32(q.epoch), earliest
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
		r.code, r.text = perr.UnknownServerError, unanswered
	}
	if len(req.Topics) == 0 {
		return nil
	}
	resp, err := do[*kmsg.ListOffsetsResponse](ctx, conn, req)
	if err != nil {
		return err
	}
	ids := topicIDs(list)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			r := results[core.PartitionID{Topic: ids[t.Topic], Index: p.Partition}]
			if r == nil {
				m.count.foreign.Add(1)
				continue
			}
			r.code, r.text, r.start = perr.Code(p.ErrorCode), "", core.Offset(p.Offset)
			if r.code == 0 && r.start < 0 {
				r.code, r.text = perr.UnknownServerError, fmt.Sprintf("the source states log start %d", r.start)
			}
		}
	}
	return nil
}

const earliest = -2

func topicIDs(list []question) map[string]core.TopicID {
	ids := map[string]core.TopicID{}
	for _, q := range list {
		ids[q.topic] = q.id.Topic
	}
	return ids
}

// askUnclean asks for lastUncleanEpoch, which a truncation needs before the epoch is adopted (R11), and for the source's
// incarnation, which tells the epoch from that of a restored copy (R3). Only a
// fetch answer carries it, so this is a fetch that wants no data: it reports nothing, and what records it
// brings are dropped. A source that states nothing leaves stated false. It is asked last and by the topic's id: the two
// requests before name the topic, and another one may have the name by now (F34, I41).
func askUnclean(ctx context.Context, conn *conn, m *mirrorRun, version int16, list []question, results map[core.PartitionID]*check) error {
	req := messages.NewPtrFetchRequest()
	req.SetVersion(version)
	req.ReplicaId, req.MaxBytes = -1, 1
	for _, q := range list {
		r := results[q.id]
		if r.code != 0 {
			continue
		}
		p := messages.NewFetchRequestPartition()
		p.Partition, p.CurrentLeaderEpoch, p.PartitionMaxBytes = q.id.Index, int32(q.epoch), 1
		// Inside the source's log whatever became of ours: an offset out of range would say nothing.
		p.FetchOffset = int64(r.start)
		p.CompareOffset = int64(r.common())
		if checkedByID {
			r.code, r.text = perr.UnknownServerError, unanswered
		}
		req.Topics = append(req.Topics, messages.FetchRequestTopic{TopicId: q.id.Topic, Partitions: []messages.FetchRequestPartition{p}})
	}
	if len(req.Topics) == 0 {
		return nil
	}
	resp, err := do[*messages.FetchResponse](ctx, conn, req)
	if err != nil {
		return err
	}
	for _, t := range resp.Responses {
		for _, p := range t.Partitions {
			r := results[core.PartitionID{Topic: t.TopicId, Index: p.PartitionIndex}]
			if r == nil {
				m.count.foreign.Add(1)
				continue
			}
			if checkedByID {
				r.code, r.text = perr.Code(p.ErrorCode), ""
			}
			if p.ErrorCode == 0 && p.Evidence != nil && core.LeaderEpoch(p.Evidence.SourceEpoch) == r.epoch {
				r.stated, r.unclean, r.source = true, core.LeaderEpoch(p.Evidence.LastUncleanEpoch), p.Evidence.Incarnation
				r.compare(m, p.ComparedCrc)
			}
		}
	}
	return nil
}

// common is where the common history ends by the epochs alone, inclusive; Unknown: nothing is common, or the epoch that
// the source named is not in our log and it will be asked again.
func (r *check) common() core.Offset {
	end := min(r.next, r.endOffset)
	known := false
	for i, e := range r.epochs {
		if known = known || e.Epoch == r.endEpoch; e.Epoch == r.endEpoch && i+1 < len(r.epochs) {
			end = min(end, r.epochs[i+1].Start)
		}
	}
	if !known || end <= max(r.begin, r.start) || !compareTails {
		return core.Unknown
	}
	return end - 1
}

// compare holds what the source has there against ours. A source that counts its epochs again after it was restored from
// an older copy has other records under the same epochs; nothing but the records says so (R11).
func (r *check) compare(m *mirrorRun, theirs int64) {
	at := r.common()
	if at == core.Unknown || theirs == -1 {
		return
	}
	ours, err := m.home().Tail(r.id, at)
	if err != nil {
		r.code, r.text = perr.KafkaStorageError, fmt.Sprintf("our own record %d cannot be read: %v", at, err)
		return
	}
	r.differs = ours != -1 && (ours < 0 || ours != theirs) // -1: our log has changed, and the answer is late
}

// askBeginnings asks a source that states nothing where its leader's epoch begins: what the leaders before it
// acknowledged lies below, and its own HW may be older (R14). Without an answer nothing is armed there.
func askBeginnings(ctx context.Context, conn *conn, m *mirrorRun, list []question, results map[core.PartitionID]*check) error {
	var ask []question
	before := map[core.PartitionID]*check{}
	for _, q := range list {
		switch r := results[q.id]; {
		case r.code != 0 || r.stated:
		case q.epoch == 0:
			r.begins = r.start
		default:
			q.last = q.epoch - 1
			ask, before[q.id] = append(ask, q), &check{question: q}
		}
	}
	if len(ask) == 0 {
		return nil
	}
	if err := askEnds(ctx, conn, m, ask, before); err != nil {
		return err
	}
	for id, r := range before {
		if r.code == 0 && r.endEpoch != core.NoEpoch {
			results[id].begins = r.endOffset
		}
	}
	return nil
}

// cut is what this check may be about to cut.
func (r check) cut() cut {
	return cut{hw: r.hw, clean: r.stated && r.unclean <= r.adopted}
}

func tooOld(api string, max, needed int16) error {
	return fmt.Errorf("source speaks %s up to version %d, a mirror needs %d", api, max, needed)
}
