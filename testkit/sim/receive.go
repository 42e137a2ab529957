package sim

import (
	"lockstep/actors/bus/facts"
	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	shipped "lockstep/actors/fetcher"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

func (f *fetcher) received(fl *flight, answer any, err error) {
	now := f.home().mono()
	if f.flight == fl {
		f.flight = nil
	}
	if err != nil {
		f.open[0] = false
		f.landed(fl)
		if fl.kicked {
			return
		}
		f.unreachable(now)
		for _, id := range sortedPartitions(fl.asked) {
			if c := f.cursors[id]; c != nil {
				f.failing(c, perr.NetworkException, err.Error(), fl.sent)
			}
		}
		return
	}
	f.pause = 0
	f.laggards = now + laggardWait
	for _, part := range answer.([]fetchedPartition) {
		q := fl.asked[part.id]
		if c := f.cursors[part.id]; c != nil && c.current(q) && c.flying == fl {
			c.flying = nil
			f.receivedPartition(c, q, part, now)
		}
	}
	f.landed(fl)
}

func (f *fetcher) landed(fl *flight) {
	for id := range fl.asked {
		if c := f.cursors[id]; c != nil && c.flying == fl {
			c.flying = nil
		}
	}
}

func (f *fetcher) receivedPartition(c *cursor, q askedFor, part fetchedPartition, now int64) {
	if c.anotherSource(part) {
		c.retryAlignment(now, epochPace)
		return
	}
	f.heed(c, q, part)
	if part.code != perr.None {
		f.refused(c, q, part.code, now)
		return
	}
	if part.diverging {
		c.retryAlignment(now, epochPace)
		return
	}
	list, err := shipped.Verify(part.records, q.offset, c.last, q.epoch, false)
	if err != nil {
		c.corrupt++
		f.home().site.world.found("I60", "%s: the source's answer for %s is no continuation of our log: %v", f.home().site.id, c.id, err)
		return
	}
	if q.sync {
		c.refusal, c.probing = 0, 0
	}
	c.corrupt, c.code, c.pause, c.stated = 0, 0, 0, part.evidence != nil
	end, size := q.offset, int64(0)
	for _, b := range list {
		end = core.Offset(b.LastOffset()) + 1
		size += int64(len(b.Bytes))
		c.records += int64(b.Records)
	}
	c.bytes += size
	c.measure(size, now)
	c.sourceHW = max(part.hw, core.Unknown)
	hw, start := shipped.Clamp(part.hw, part.start, q.offset, end)
	if len(list) == 0 && hw == c.tracked && start == c.trimmed && c.waiters == c.told {
		f.run.progressed(c, q)
		return
	}
	c.phase, c.appendOf = appending, q
	c.tracked, c.trimmed, c.told = hw, start, c.waiters
	f.ask(c, func(ref core.RequestID) partition.Command {
		return partition.AppendMirrored{Ref: ref, Session: q.session, SourceEpoch: q.epoch, SourceIncarnation: part.source(), Batches: list, SourceHW: hw, SourceLogStart: start, HasWaiters: c.told}
	}, now)
}

// heed takes what an answer states beside its records: the gate, waiting producers, a release.
func (f *fetcher) heed(c *cursor, q askedFor, part fetchedPartition) {
	if e := part.evidence; e != nil {
		c.waiters = e.HasWaiters
		f.home().outlet(f.run.name).placed(c.id, f.broker, e.HasWaiters)
		if e.Gating && core.LeaderEpoch(e.SourceEpoch) == q.epoch {
			report := facts.Evidence(c.id, q.sent, e)
			f.run.note(c.id, func(r *pendingReport) { r.evidence = &report })
		}
	}
	if part.code == perr.InvalidSyncRegistration && part.released > 0 {
		f.home().mirrorTell(f.run.name, mirror.ReportReleased{Number: part.released, Topics: []core.TopicID{c.id.Topic}})
	}
}

func (f *fetcher) refused(c *cursor, q askedFor, code perr.Code, now int64) {
	if q.sync && (code == perr.InvalidSyncRegistration || code == perr.MirrorRegistrationPropagating) {
		if c.sync {
			c.refused(now, code)
			f.run.refused(c, q.sent)
		}
		return
	}
	refresh := true
	switch code {
	case perr.OffsetOutOfRange:
		c.retryAlignment(now, epochPace)
		return
	case perr.NotLeaderOrFollower, perr.FencedLeaderEpoch, perr.LeaderNotAvailable, perr.KafkaStorageError, perr.ReplicaNotAvailable:
		c.retryAlignment(now, epochPace)
		c.phase = lost
	case perr.UnknownLeaderEpoch:
		c.until = now + slower(&c.pause, epochPace)
		if c.phase == aligning {
			c.phase = unaligned
		}
	case perr.UnknownTopicOrPartition, perr.UnknownTopicId, perr.InconsistentTopicId:
		c.retryAlignment(now, fetchPace)
	default:
		c.retryAlignment(now, fetchPace)
		refresh = false
	}
	if refresh {
		f.run.box.post(f.run.refresh)
	}
	f.failing(c, code, "", q.sent)
}

func (f *fetcher) answered(id core.PartitionID, attempt uint64, reply any) {
	now := f.home().mono()
	c := f.cursors[id]
	if c == nil || c.attempt != attempt || c.phase != aligning && c.phase != appending {
		return
	}
	a, ok := reply.(partition.MirrorAnswered)
	if !ok {
		if died, is := reply.(shell.Failed); is {
			f.failing(c, died.Code, died.Text, now)
		}
		c.retryAlignment(now, localPace)
		return
	}
	switch a.Outcome {
	case partition.MirrorOK:
		f.accepted(c, a)
	case partition.MirrorStale:
		c.retryAlignment(now, localPace)
	case partition.MirrorAgain:
		c.retryAlignment(now, localPace)
		c.agreed, c.until = a.LastEpoch, 0
	case partition.MirrorEpochTooLow:
		c.phase = raising
		f.home().raiseEpoch(id, c.sourceEpoch+10, func(any) {
			f.post(func() {
				if c := f.cursors[id]; c != nil && c.attempt == attempt && c.phase == raising {
					c.retryAlignment(f.home().mono(), localPace)
				}
			})
		})
	case partition.MirrorDiverged:
		c.phase = diverged
		f.home().site.world.oracle.divergedAt(f.home(), id, a.Text)
		f.home().mirrorTell(f.run.name, mirror.ReportDiverged{ID: c.id, Session: c.session, Text: a.Text})
	case partition.MirrorUnsaved:
		f.failing(c, perr.KafkaStorageError, a.Text, now)
		c.retryAlignment(now, fetchPace)
	case partition.MirrorRejected:
		f.home().site.world.found("I60", "%s: our partition %s refuses the source's batches: %s", f.home().site.id, id, a.Text)
	default:
		panic("sim: unknown mirror outcome")
	}
}

func (f *fetcher) accepted(c *cursor, a partition.MirrorAnswered) {
	if c.phase == aligning {
		f.run.adopted(c, a.Reset, a.BelowFloor, a.LEO, a.Text)
		c.adopted, c.agreed = c.sourceEpoch, core.NoEpoch
		c.tracked, c.trimmed, c.pause = core.Unknown, core.Unknown, 0
	}
	appended := c.phase == appending
	c.phase = fetching
	c.home, c.next, c.last, c.until = a.Epoch, a.LEO, a.LastEpoch, 0
	if appended {
		f.run.progressed(c, c.appendOf)
	}
}
