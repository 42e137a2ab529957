package model

import (
	"fmt"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/invariants"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// PactBounds is what may happen between a source's ledger and a destination's mirror, and how often.
type PactBounds struct {
	Records       int
	Messages      int // commands, answers and notices on their way; each may arrive late, never, or again and again, until the newest pushes out the oldest
	Evidence      int // evidence on its way, likewise
	Releases      int
	Changes       int // of the operator's mind at the destination: ASYNC, SYNC, ASYNC, …
	Elections     int // of the source's leader
	SrcRestarts   int
	DstRestarts   int
	Ticks         int  // steps of the clock by 700 ms: back-off ends, an answer is no longer fresh
	Commands      int  // numbered commands of the destination; nothing is explored beyond
	LongTicks     int  // steps by 31 s: a claim is unconfirmed, refusals were long enough
	Lag           bool // the leader hears of the ledger as a step of its own
	Whole         bool // releases are of the whole mirror
	Torn          bool // a restart of the destination may come in the middle of a decision
	Restores      int  // the destination comes back with the journal it had at the start, and all of its data
	AfterLease    bool // releases wait for the claim lease, and evidence promises so
	StartsClaimed bool
	Rest          bool // where nothing more is asked, a minute without faults must bring what is wanted
}

func (b PactBounds) String() string {
	var parts []string
	for _, one := range []struct {
		n    int
		what string
	}{
		{b.Records, "records"}, {b.Messages, "messages in flight"}, {b.Evidence, "evidence in flight"}, {b.Releases, "releases"}, {b.Changes, "changes of mind"},
		{b.Elections, "elections"}, {b.SrcRestarts, "source restarts"}, {b.DstRestarts, "destination restarts"}, {b.Restores, "returns of an older journal"}, {b.Ticks, "clock steps"}, {b.LongTicks, "long clock steps"}, {b.Commands, "commands"},
	} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	if b.Lag {
		parts = append(parts, "the leader's image lags")
	}
	if b.Whole {
		parts = append(parts, "releases of the whole mirror")
	}
	if b.AfterLease {
		parts = append(parts, "releases after the lease")
	}
	if b.Torn {
		parts = append(parts, "decisions are torn")
	}
	if b.Rest {
		parts = append(parts, "comes to rest")
	}
	if b.StartsClaimed {
		parts = append(parts, "starts with SYNC claimed")
	}
	return strings.Join(parts, ", ")
}

// pact is one state of the control plane: the shipped ledger, the shipped mirror of one topic with one
// partition, the leader between them, and the network.
type pact struct {
	bounds *PactBounds
	forms  *pactForms
	now    int64 // mono ns of both sides

	src    *registration.State
	ledger registration.Ledger
	leader leader
	dst    *mirror.State
	copied copied
	net    []message
	proofs []message // evidence

	acked    []promise
	release  core.ReleaseNumber // newest in the ledger
	answered core.ReleaseNumber // newest that an admission echoed
	told     int64              // since when the release is in force
	fresh    byte
	first    []byte // the destination's journal at the start
	used     [pactActions]int8
	commands int
	tear     int8 // of the step under way: the mirror dies with tear-1 events of its next decision on disk
	claimed  bool

	// The machines that the sums name.
	srcNamed       *registration.State
	dstNamed       *mirror.State
	srcSum, dstSum sum

	violation *invariants.Violation
	log       func(string, ...any)
}

// leader is the source's partition: it waits for its gate's floor, and its image may lag behind the ledger.
type leader struct {
	epoch   core.LeaderEpoch
	records []int8
	hw      int8
	queue   []image.Registrations
	gates   image.Registrations
	gate    gateHeld
}

type gateHeld struct {
	on    bool
	gate  image.Gate
	start core.Offset
	floor core.Offset
}

// copied is the destination's partition and what its fetcher was told.
type copied struct {
	records     []int8
	adopted     core.LeaderEpoch
	mode        mirror.FetchMode
	session     core.MirrorSession
	reporting   bool
	epoch       core.RegistrationEpoch
	incarnation core.Incarnation
}

// message is on the network. Exactly one of the two is set.
type message struct {
	toSource registration.Command
	toMirror mirror.Command
}

// promise is one acknowledged record, and the source's clock when it was acknowledged.
type promise struct {
	at     int8
	record int8
	clock  int64
}

const (
	pactSecond = int64(1e9)
	pactSkewMs = -500_000 // of the source's clock: taking the destination's for it would claim too much (G4)
	pactLease  = 10 * pactSecond
)

var (
	ledgers   = registration.Machine()
	mirrors   = mirror.Machine()
	pactTopic = core.TopicID{1}
	pactKey   = core.MirrorKey{Cluster: "dst", Mirror: "m"}
	pactPart  = core.PartitionID{Topic: pactTopic}
)

func newPact(b *PactBounds, log func(string, ...any)) *pact {
	p := &pact{bounds: b, forms: newPactForms(), now: 1000 * pactSecond, src: ledgers.Init("src"), dst: mirrors.Init("m")}
	p.leader.epoch, p.copied.adopted = 1, core.NoEpoch
	p.tellMirror(mirror.CreateMirror{Mirror: "m", SourceCluster: "src", Config: map[string]string{"bootstrap.servers": "x:1"}})
	p.tellMirror(mirror.StartTopics{Topics: []mirror.StartTopic{{
		Source: mirror.SourceTopic{ID: pactTopic, Name: "t", Partitions: 1}, Type: mirror.TypeSync, Fresh: p.draw(),
	}}})
	if b.StartsClaimed {
		for range 6 {
			p.fetch()
			p.tellMirror(mirror.Tick{})
			for _, m := range append(append([]message{}, p.net...), p.proofs...) {
				p.deliver(m)
			}
			p.hearAll()
		}
		p.net, p.proofs = nil, nil
	}
	p.first = mirrors.Snapshot(p.dst)
	p.log = log
	return p
}

func (p *pact) draw() core.Incarnation {
	p.fresh++
	return core.Incarnation{p.fresh}
}

func (p *pact) clock() core.Now { return core.Now{Mono: p.now, Wall: p.now / 1e6} }

// sourceClock moves with every acknowledgement, so that evidence is before or after each of them.
func (p *pact) sourceClock() int64 { return p.now/1e6 + pactSkewMs + int64(len(p.acked)) }

func (p *pact) fork() *pact {
	n := *p
	n.log = nil
	return &n
}

func (p *pact) say(format string, args ...any) {
	if p.log != nil {
		p.log(format, args...)
	}
}

func (p *pact) broken() *invariants.Violation { return p.violation }

// promised reports whether SYNC is shown beside a record that was acknowledged before T.
func (p *pact) promised() bool { return p.claimed }

func (p *pact) found(id, format string, args ...any) {
	if p.violation == nil {
		p.violation = &invariants.Violation{ID: id, Text: fmt.Sprintf(format, args...)}
	}
}
