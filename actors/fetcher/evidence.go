package fetcher

import (
	"lockstep/actors/bus/facts"
	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// heed takes what a fetch answer states beside its records: the gate, waiting producers, a release. All of
// it is fenced again by the mirror's actor; nothing here is trusted for more than being said.
func (f *fetcher) heed(c *cursor, q asked, p *messages.FetchResponsePartition) {
	if e := p.Evidence; e != nil {
		c.waiters = e.HasWaiters
		f.mirror.links().Placed(f.mirror.name, c.ID, f.broker, e.HasWaiters)
		// An answer that lets a destination adopt an epoch says too whether the leader gates; of another
		// epoch than the one we asked it says nothing (G2).
		if e.Gating && core.LeaderEpoch(e.SourceEpoch) == q.epoch {
			f.mirror.reports.evidence(facts.Evidence(c.ID, q.sent, e))
		}
	}
	if perr.Code(p.ErrorCode) == perr.InvalidSyncRegistration && p.ReleaseNumber > 0 {
		f.mirror.home().Tell(f.mirror.name, mirror.ReportReleased{Number: core.ReleaseNumber(p.ReleaseNumber), Topics: []core.TopicID{c.ID.Topic}})
	}
}
