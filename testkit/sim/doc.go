// Package sim plays whole lockstep clusters in one thread: a source, one to three destinations, their disks, the
// network between them, clients and operators, all under one seed. It looks for schedules that lose, change
// or double a record, or that leave somebody waiting for ever.
//
// # What is the shipped code
//
// Every decision: the machines of actors/core/{partition,highwater,controller,registration,mirror,image}, run
// through core.Machine with their own journal events, snapshots and replays. Beside them, called as they are:
// actors/core/orders (what an image says to a replica), partition.CompactReports, actors/bus/facts (what
// floors and evidence become), fetcher.Verify and fetcher.Clamp (what of a fetch answer may be used),
// protocol/batch, and actors/core/invariants.
//
// # What is re-done here
//
// The shell and the IO rooms, which wait, lock or use goroutines and cannot be hosted:
//
//	actor.go, mailbox.go           actors/shell: decide, apply, append, early now, late behind the ticket
//	disk.go                        journal: one commit log a volume, group commit, a synced prefix survives
//	process.go, coordinators.go,
//	broker.go, replica.go          actors/broker: start, spawn, publish, perform effects, stop and start of brokers
//	evidence.go, front.go, fetch.go broker.Evidence, clusterd/front: produce, a mirror's fetch, registrations
//	outlet.go, inlet.go, control.go actors/bus: floors, evidence, notices, registration commands
//	mirrors.go, fetcher.go, check.go,
//	receive.go, cursor.go          actors/fetcher: metadata, divergence checks, fetches, reports
//	net.go                         TCP and NATS, as far as they lose, delay, hold or reorder
//
// They carry what machines say and decide nothing, but a bug in the real wiring is not found here; the
// process tests (testkit/pair, crash, power) are for those. Switches of actors/{broker,fetcher,bus} and
// clusterd/front have no effect here.
//
// # What is left out
//
// Groups, quotas, retention, unclean elections, accepted losses and the last copy destroyed, the control quorum's own
// messages (it is one disk that loses nothing synced), frames on the wire, failback, patterns of topics that appear
// later. A mirror has one fetch in flight per source broker, as the shipped fetcher has (its window is 1). A disk never
// lies: what it called synced stays.
//
// # A run
//
// Options are drawn from the seed (options.go), so is a plan of faults with names (faults.go). The phase with
// faults takes Ticks ms of simulated time; then every fault ends and everything must come to rest: each
// mirror SYNC again, each producer answered, every acknowledged record readable (run.go). The oracle looks
// at every event (oracle*.go). The same seed gives the same run, down to the hash of its trace.
package sim
