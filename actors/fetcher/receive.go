package fetcher

import (
	"cmp"
	"fmt"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// receiveFetch reads the answer of the fetch that was out.
func (f *fetcher) receiveFetch(m fetched, now time.Time) {
	if f.flight == m.flight {
		f.flight = nil
	}
	if m.err != nil {
		f.data.close()
		f.landed(m.flight)
		if m.flight.kicked {
			return // we broke it ourselves, to ask for something else
		}
		f.mirror.count.requestFailures.Add(1)
		f.unreachable(now, m.err)
		for id := range m.flight.asked {
			if c, ok := f.cursors[id]; ok {
				c.fail(now, perr.NetworkException, m.err.Error())
				f.mirror.reports.failing(c, m.flight.sent)
			}
		}
		return
	}
	f.pause.reset()
	f.laggards = now.Add(laggardWait)
	seen := map[core.PartitionID]bool{}
	if code := perr.Code(m.resp.ErrorCode); code != 0 {
		f.landed(m.flight)
		for id := range m.flight.asked {
			if c, ok := f.cursors[id]; ok {
				f.refused(c, m.flight.asked[id], code, "", now)
			}
		}
		return
	}
	for i := range m.resp.Responses {
		t := &m.resp.Responses[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			id := core.PartitionID{Topic: t.TopicId, Index: p.PartitionIndex}
			q, asked := m.flight.asked[id]
			c, ok := f.cursors[id]
			switch {
			case !asked || seen[id]:
				f.mirror.count.foreign.Add(1)
			case !ok || !c.current(q):
				// R3, model A1: another session, epoch or attempt has begun since.
				f.mirror.count.stale.Add(1)
			default:
				seen[id] = true
				c.flying--
				f.mirror.count.answers.Add(1)
				if m.resp.Version < syncFetchVersion && oldFetchIsAsync {
					q.sync = false // what it said of our replicas was not sent, or skipped
				}
				f.receivePartition(c, q, p, now)
			}
		}
	}
	f.landed(m.flight)
}

// landed closes the window of whatever a fetch asked and did not get.
func (f *fetcher) landed(fl *flight) {
	for id, q := range fl.asked {
		if c, ok := f.cursors[id]; ok && c.attempt == q.attempt && c.flying > 0 && c.flight == fl {
			c.flying--
			c.flight = nil
		}
	}
}

// receivePartition reads one current answer.
func (f *fetcher) receivePartition(c *cursor, q asked, p *messages.FetchResponsePartition, now time.Time) {
	c.flight = nil
	if c.anotherSource(p) {
		f.mirror.count.stale.Add(1)
		c.retryAlignment(now, epochPace)
		return
	}
	f.heed(c, q, p)
	if code := perr.Code(p.ErrorCode); code != 0 {
		f.refused(c, q, code, "", now)
		return
	}
	if p.DivergingEpoch.EndOffset >= 0 {
		c.retryAlignment(now, epochPace)
		return
	}
	list, err := Verify(p.Records, q.offset, c.last, q.epoch, p.Evidence == nil && f.mirror.home().Compacts(c.ID.Topic))
	if err != nil {
		f.corrupt(c, err, now)
		return
	}
	if q.sync {
		c.refuse = refusal{}
	}
	c.corrupt, c.stated = 0, p.Evidence != nil
	c.unsynced = c.stated && p.Evidence.Unsynced
	c.failed = failure{}
	c.pause.reset()
	end, size := q.offset, int64(0)
	for i := range list {
		end = core.Offset(list[i].LastOffset()) + 1
		size += int64(len(list[i].Bytes))
		c.records += int64(list[i].Records)
	}
	c.bytes += size
	f.charge(c, size, now)
	c.rate.add(size, now)
	c.sourceHW = max(core.Offset(p.HighWatermark), core.Unknown)
	hw, start := Clamp(core.Offset(p.HighWatermark), core.Offset(p.LogStartOffset), q.offset, end)
	forgotten := core.Offset(max(p.ForgottenBefore, 0))
	if len(list) == 0 && hw == c.tracked && start == c.trimmed && forgotten == c.forgotten && c.waiters == c.told {
		f.mirror.reports.progress(c, q)
		return
	}
	f.mirror.count.batches.Add(int64(len(list)))
	f.mirror.count.bytes.Add(size)
	c.phase, c.appendOf, c.received = appending, q, time.Time{}
	if len(list) > 0 {
		c.received = now
	}
	c.tracked, c.trimmed, c.forgotten, c.told = hw, start, forgotten, c.waiters
	source := statedSource(p)
	f.ask(c, func(ref core.RequestID) partition.Command {
		return partition.AppendMirrored{Ref: ref, Session: q.session, SourceEpoch: q.epoch, SourceIncarnation: source, Batches: list, SourceHW: hw, SourceLogStart: start, SourceForgotten: forgotten, HasWaiters: c.told}
	}, now)
}

// corrupt handles bytes that are no continuation of our log. Nothing of the answer is used; the partition
// asks again after a pause, and others go on. After a row of them an operator is told.
func (f *fetcher) corrupt(c *cursor, err error, now time.Time) {
	f.mirror.count.corrupt.Add(1)
	c.corrupt++
	c.fail(now, perr.CorruptMessage, err.Error())
	f.mirror.reports.failing(c, f.mono())
	if c.corrupt >= corruptLimit {
		f.mirror.reports.rejected(c, err.Error())
		c.corrupt = 0
	}
	f.log.Warn("answer is not a continuation of our log and is dropped", "topic", c.Topic, "partition", c.ID.Index, "error", err)
	c.retryAlignment(now, pace{f.mirror.config.FetchBackoff, maxBackoff})
}

// corruptLimit is how many bad answers in a row a partition may get before it counts as rejected.
const corruptLimit = 10

// refused decides what an error of the source means for one partition.
func (f *fetcher) refused(c *cursor, q asked, code perr.Code, text string, now time.Time) {
	if q.sync && (code == perr.InvalidSyncRegistration || code == perr.MirrorRegistrationPropagating) {
		if !c.Sync {
			return // of a fetch from before the topic became ASYNC: nobody will probe, and a probe that is due lets no fetch wait
		}
		// C5, F21: the gate is refused, the data is not. Read like a consumer until the next probe.
		f.mirror.count.refusals.Add(1)
		c.refuse.note(now, code)
		f.mirror.reports.refused(c, q.sent)
		return
	}
	text = cmp.Or(text, neededRight(code))
	switch code {
	case perr.OffsetOutOfRange:
		// The source's log begins above our end, or ends below it: the check finds out which.
		c.retryAlignment(now, epochPace)
		return
	case perr.NotLeaderOrFollower, perr.FencedLeaderEpoch, perr.LeaderNotAvailable, perr.KafkaStorageError, perr.ReplicaNotAvailable:
		c.fail(now, code, text)
		c.lose(now)
		f.mirror.refresh()
	case perr.UnknownLeaderEpoch:
		// The broker has not heard of its own election yet.
		c.fail(now, code, text)
		c.until = now.Add(c.pause.next(epochPace))
		if c.phase == aligning {
			c.phase = unaligned
		}
		f.mirror.refresh()
	case perr.UnknownTopicOrPartition, perr.UnknownTopicId, perr.InconsistentTopicId:
		c.fail(now, code, text)
		c.retryAlignment(now, pace{f.mirror.config.FetchBackoff, maxBackoff})
		f.mirror.refresh()
	default:
		c.fail(now, code, text)
		c.retryAlignment(now, pace{f.mirror.config.FetchBackoff, maxBackoff})
	}
	f.mirror.reports.failing(c, q.sent)
}

// receiveCheck hands the result of a divergence check to the partition actor, which truncates and adopts.
func (f *fetcher) receiveCheck(m checked, now time.Time) {
	f.checking = false
	if m.err != nil {
		f.unreachable(now, m.err)
		for _, q := range m.asked {
			if c, ok := f.cursors[q.id]; ok && c.attempt == q.attempt {
				c.phase = unaligned
				c.fail(now, perr.NetworkException, m.err.Error())
				f.mirror.reports.failing(c, f.mono())
			}
		}
		return
	}
	f.pause.reset()
	for i := range m.results {
		r := &m.results[i]
		c, ok := f.cursors[r.id]
		if !ok || c.attempt != r.attempt || c.phase != aligning {
			f.mirror.count.stale.Add(1)
			continue
		}
		if r.code != 0 {
			c.phase = unaligned
			f.refused(c, asked{session: c.Session, epoch: r.epoch, sent: f.mono()}, r.code, r.text, now)
			if c.phase == unaligned && !now.Before(c.until) {
				c.until = now.Add(c.pause.next(epochPace))
			}
			continue
		}
		c.cut, c.begins, c.source = r.cut(), r.begins, r.source
		f.ask(c, func(ref core.RequestID) partition.Command {
			return partition.AdoptSource{Ref: ref, Session: c.Session, SourceEpoch: r.epoch, SourceIncarnation: r.source,
				EndEpoch: r.endEpoch, EndOffset: r.endOffset, Differs: r.differs, OfLEO: r.next, OfEpoch: partition.NewestEpoch(r.epochs), KnowsLEO: true, SourceStart: r.start,
				LastUnclean: r.unclean, Stated: r.stated, FollowUnclean: f.followsUnclean(c), Accept: c.Accept}
		}, now)
	}
}

// followsUnclean: the topic's own setting at this cluster decides, else the mirror's, or what was copied from the source.
// It is read at the moment it matters, so that a change counts without a new session.
func (f *fetcher) followsUnclean(c *cursor) bool {
	if value, set := f.mirror.home().FollowsUnclean(c.ID.Topic); set && destinationDecidesUnclean {
		return value
	}
	return c.FollowUnclean
}

// ask hands a command to the replica that leads at home; its answer comes through the inbox.
func (f *fetcher) ask(c *cursor, build func(core.RequestID) partition.Command, now time.Time) {
	id, attempt, box := c.ID, c.attempt, f.inbox
	if !f.mirror.home().Ask(id, build, func(reply any) { box.put(answered{id, attempt, reply}) }) {
		f.mirror.count.localStale.Add(1)
		c.fail(now, perr.NotLeaderOrFollower, "no replica of this cluster leads the partition")
		f.mirror.reports.failing(c, f.mono())
		c.retryAlignment(now, localPace)
	}
}

// receiveAnswer reads what our own partition actor made of a check or of batches.
func (f *fetcher) receiveAnswer(m answered, now time.Time) {
	c, ok := f.cursors[m.id]
	if !ok || c.attempt != m.attempt || c.phase != aligning && c.phase != appending {
		return
	}
	a, ok := m.reply.(partition.MirrorAnswered)
	if !ok {
		f.mirror.count.localStale.Add(1)
		if died, is := m.reply.(shell.Failed); is {
			c.fail(now, died.Code, "our own partition: "+died.Text)
			f.mirror.reports.failing(c, f.mono())
		}
		c.retryAlignment(now, localPace)
		return
	}
	switch a.Outcome {
	case partition.MirrorOK:
		f.accepted(c, a, now)
	case partition.MirrorStale:
		f.mirror.count.localStale.Add(1)
		c.retryAlignment(now, localPace)
	case partition.MirrorAgain:
		c.retryAlignment(now, localPace)
		c.agreed = a.LastEpoch
		c.until = time.Time{}
	case partition.MirrorEpochTooLow:
		// D23: adopting source epoch e needs a leader epoch of ours above it, or consumers that remember
		// a record's epoch would refresh their metadata for ever.
		f.mirror.count.epochRaises.Add(1)
		c.phase = raising
		id, attempt, box := c.ID, c.attempt, f.inbox
		f.mirror.home().RaiseEpoch(id, c.SourceEpoch+epochHeadroom, func(ok bool) { box.put(raised{id, attempt, ok}) })
	case partition.MirrorDiverged:
		f.mirror.count.divergences.Add(1)
		c.phase = diverged
		f.mirror.reports.diverged(c, a.Text)
	case partition.MirrorUnsaved:
		// Our own disk is full or failing. It heals when there is room: the partition waits and says so.
		c.fail(now, perr.KafkaStorageError, a.Text)
		f.mirror.reports.failing(c, f.mono())
		c.retryAlignment(now, pace{f.mirror.config.FetchBackoff, maxBackoff})
	case partition.MirrorRejected:
		f.mirror.count.rejects.Add(1)
		f.corrupt(c, fmt.Errorf("our partition refuses the batches: %s", a.Text), now)
	default:
		panic("fetcher: unknown mirror outcome")
	}
}

// epochHeadroom is by how much our leader epoch is raised above the source's (D23).
const epochHeadroom = 10

// accepted goes on after a durable adoption or append: the next fetch starts at the durable LEO.
func (f *fetcher) accepted(c *cursor, a partition.MirrorAnswered, now time.Time) {
	if c.phase == aligning {
		f.mirror.count.adoptions.Add(1)
		f.mirror.reports.adopted(c, c.cut, a)
		c.adopted, c.agreed = c.SourceEpoch, core.NoEpoch
		c.tracked, c.trimmed, c.forgotten = core.Unknown, core.Unknown, 0
		c.pause.reset()
	}
	appended := c.phase == appending
	c.phase = fetching
	c.home, c.next, c.last = a.Epoch, a.LEO, a.LastEpoch
	c.until = time.Time{}
	if appended {
		if !c.received.IsZero() {
			f.mirror.all.health.appends.Observe(now.Sub(c.received))
		}
		f.mirror.reports.progress(c, c.appendOf)
	}
}

// mono is the clock of the actors, on which they count freshness.
func (f *fetcher) mono() int64 { return f.mirror.home().Now().Mono }
