package sim

import (
	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

// question is one partition of a divergence check.
type question struct {
	id      core.PartitionID
	attempt uint64
	epoch   core.LeaderEpoch
	last    core.LeaderEpoch
	next    core.Offset
	adopted core.LeaderEpoch
	hw      core.Offset
	newest  core.LeaderEpoch
}

func (f *fetcher) startCheck(now int64) {
	var list []question
	for _, c := range f.order {
		id := c.id
		if c.phase != unaligned || now < c.until {
			continue
		}
		r := f.home().leader(id)
		if r == nil {
			c.until = now + slower(&c.pause, localPace)
			f.failing(c, perr.NotLeaderOrFollower, "no replica of this cluster leads the partition", now)
			continue
		}
		v := r.view
		if f.waitsForNewer(c, v, now) {
			continue
		}
		c.phase, c.next, c.last = aligning, v.LEO, core.NoEpoch
		for _, e := range v.Epochs {
			if e.Start < v.LEO || v.LEO == v.LogStart {
				c.last = e.Epoch
			}
		}
		if c.agreed != core.NoEpoch {
			c.last = c.agreed
		}
		list = append(list, question{id, c.attempt, c.sourceEpoch, c.last, v.LEO, v.Adopted, v.HW, partition.NewestEpoch(v.Epochs)})
	}
	if len(list) == 0 {
		return
	}
	broker := f.broker
	f.check = f.run.link.ask(f.home(), !f.open[1], f.home().site.world.options.DialTimeout, requestTimeout, func(source *process, answer func(any)) {
		b := source.broker(broker)
		if !b.running {
			answer(errCut) // its listener is closed
			return
		}
		results := make([]ended, len(list))
		for i, q := range list {
			results[i] = b.end(q.id, q.epoch, q.last)
		}
		answer(results)
	}, func(answer any, err error) { f.post(func() { f.checked(list, answer, err) }) })
	f.open[1] = true
}

func (f *fetcher) waitsForNewer(c *cursor, v partition.View, now int64) bool {
	if !v.Mirroring || c.sourceEpoch >= v.Adopted || now-c.since >= lowerAfter {
		return false
	}
	c.until = now + slower(&c.pause, epochPace)
	f.failing(c, perr.FencedLeaderEpoch, "metadata lags", now)
	f.run.box.post(f.run.refresh)
	return true
}

func (f *fetcher) checked(list []question, answer any, err error) {
	now := f.home().mono()
	f.check = nil
	if err != nil {
		f.open[1] = false
		f.unreachable(now)
		for _, q := range list {
			if c := f.cursors[q.id]; c != nil && c.attempt == q.attempt {
				c.phase = unaligned
				f.failing(c, perr.NetworkException, err.Error(), now)
			}
		}
		return
	}
	f.pause = 0
	for i, r := range answer.([]ended) {
		q := list[i]
		c := f.cursors[q.id]
		if c == nil || c.attempt != q.attempt || c.phase != aligning {
			continue
		}
		if r.code == perr.None && r.endEpoch > q.last {
			r.code = perr.UnknownServerError
		}
		if r.code != perr.None {
			c.phase = unaligned
			f.refused(c, askedFor{session: c.session, epoch: q.epoch, sent: now}, r.code, now)
			if c.phase == unaligned && now >= c.until {
				c.until = now + slower(&c.pause, epochPace)
			}
			continue
		}
		c.beforeCut = beforeCut{hw: q.hw, clean: r.stated && r.unclean <= q.adopted}
		c.source = r.source
		f.ask(c, func(ref core.RequestID) partition.Command {
			return partition.AdoptSource{Ref: ref, Session: c.session, SourceEpoch: q.epoch, SourceIncarnation: r.source, EndEpoch: r.endEpoch, EndOffset: r.endOffset, OfLEO: q.next, OfEpoch: q.newest, KnowsLEO: true,
				SourceStart: r.start, LastUnclean: r.unclean, Stated: r.stated, FollowUnclean: c.followUnclean}
		}, now)
	}
}

// ask hands a command to the replica that leads at home.
func (f *fetcher) ask(c *cursor, build func(core.RequestID) partition.Command, now int64) {
	id, attempt := c.id, c.attempt
	r := f.home().leader(id)
	if r == nil {
		f.failing(c, perr.NotLeaderOrFollower, "no replica of this cluster leads the partition", now)
		c.retryAlignment(now, localPace)
		return
	}
	r.ask(build, func(reply any) { f.post(func() { f.answered(id, attempt, reply) }) })
}

func (f *fetcher) unreachable(now int64) {
	f.until = now + slower(&f.pause, connectPace)
	f.run.box.post(f.run.refresh)
}

func (f *fetcher) failing(c *cursor, code perr.Code, text string, asked int64) {
	c.code = code
	f.run.failed(c.id, c.session, asked, code, text)
}
