package fetcher

import "sync/atomic"

// counters are totals since process start, over all mirrors.
type counters struct {
	fetches, answers, batches, bytes          atomic.Int64
	stale, corrupt                            atomic.Int64
	alignments, adoptions, divergences        atomic.Int64
	refusals, probes                          atomic.Int64
	dials, dialFailures, requestFailures      atomic.Int64
	metadataRefreshes, metadataFailures       atomic.Int64
	foreign, epochRaises, localStale, rejects atomic.Int64
	throttled                                 atomic.Int64
}

// Counts is a snapshot of the fetchers' counters, all since process start.
type Counts struct {
	Fetches     int64 // requests sent
	Answers     int64 // partition answers read
	Batches     int64 // handed to partition actors
	Bytes       int64
	Stale       int64 // answers of an old session, epoch or attempt, dropped (R3)
	Corrupt     int64 // answers whose batches were not a valid continuation; nothing of them is used
	Foreign     int64 // answers for partitions that were not asked
	Alignments  int64 // divergence checks begun
	Adoptions   int64 // source epochs adopted
	Divergences int64 // partitions that became DIVERGED
	Refusals    int64 // sync fetches answered with 952 or 953
	Probes      int64 // sync fetches sent while refused
	Rejects     int64 // answers our own partition actor refused
	LocalStale  int64 // commands that met another leader or session at home
	Throttled   int64 // partitions left without records in a fetch by mirror.replication.throttled.rate
	EpochRaises int64 // own leader epochs raised above the source's (D23)

	Dials             int64
	DialFailures      int64
	RequestFailures   int64 // connections lost under a request
	MetadataRefreshes int64
	MetadataFailures  int64
}

func (c *counters) snapshot() Counts {
	return Counts{
		Fetches: c.fetches.Load(), Answers: c.answers.Load(), Batches: c.batches.Load(), Bytes: c.bytes.Load(),
		Stale: c.stale.Load(), Corrupt: c.corrupt.Load(), Foreign: c.foreign.Load(),
		Alignments: c.alignments.Load(), Adoptions: c.adoptions.Load(), Divergences: c.divergences.Load(),
		Refusals: c.refusals.Load(), Probes: c.probes.Load(), Rejects: c.rejects.Load(),
		LocalStale: c.localStale.Load(), EpochRaises: c.epochRaises.Load(), Throttled: c.throttled.Load(),
		Dials: c.dials.Load(), DialFailures: c.dialFailures.Load(), RequestFailures: c.requestFailures.Load(),
		MetadataRefreshes: c.metadataRefreshes.Load(), MetadataFailures: c.metadataFailures.Load(),
	}
}
