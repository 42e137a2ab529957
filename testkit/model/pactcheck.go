package model

import (
	"fmt"
	"reflect"
	"unsafe"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// pactForms renders the parts of a pact.
type pactForms struct{ src, dst, rest, message renderer }

// pactRest is what a state has beside its machines.
type pactRest struct {
	src, dst sum
	now      int64
	leader   leader
	copied   copied
	net      []message
	proofs   []message
	acked    []promise
	release  core.ReleaseNumber
	answered core.ReleaseNumber
	told     int64
	used     [pactActions]int8
	epoch    core.RegistrationEpoch // what the ledger tells of the topic
	released core.ReleaseNumber
}

// unreadInPact only counts, or is text and clocks for people.
var unreadInPact = []string{
	"registration.State.version", "mirror.TopicRecord.Text", "mirror.live.atWall", "mirror.live.text", "mirror.live.failures",
	"mirror.live.sentWall", "mirror.RegisterAnswered.Fresh", "mirror.UnregisterAnswered.Fresh", "mirror.State.nextTick",
}

func newPactForms() *pactForms {
	f := &forms{without: map[string]bool{}}
	for _, name := range unreadInPact {
		f.without[name] = true
	}
	return &pactForms{
		src: f.compile(reflect.TypeFor[registration.State]()), dst: f.compile(reflect.TypeFor[mirror.State]()),
		rest: f.compile(reflect.TypeFor[pactRest]()), message: f.compile(reflect.TypeFor[message]()),
	}
}

func (f *pactForms) text(m message) string { return string(f.message(nil, unsafe.Pointer(&m))) }

func (p *pact) key(scratch []byte) (sum, []byte) {
	f, b := p.forms, scratch[:0]
	if p.srcNamed != p.src {
		b = f.src(b[:0], unsafe.Pointer(p.src))
		p.srcNamed, p.srcSum = p.src, sumOf(b)
	}
	if p.dstNamed != p.dst {
		b = f.dst(b[:0], unsafe.Pointer(p.dst))
		p.dstNamed, p.dstSum = p.dst, sumOf(b)
	}
	b = b[:0]
	entry, _ := p.ledger.Look(pactKey, pactTopic)
	rest := pactRest{p.srcSum, p.dstSum, p.now, p.leader, p.copied, p.net, p.proofs, p.acked, p.release, p.answered, p.told, p.used, entry.Epoch, entry.Released}
	b = f.rest(b, unsafe.Pointer(&rest))
	return sumOf(b), b
}

func (p *pact) described() (mirror.TopicDescription, bool) {
	for _, e := range mirrors.Decide(p.dst, p.clock(), mirror.Describe{}).Late {
		if d, ok := e.(mirror.Described); ok && len(d.Mirror.Topics) == 1 {
			return d.Mirror.Topics[0], true
		}
	}
	return mirror.TopicDescription{}, false
}

// check is what must be true of every state of a pact.
func (p *pact) check() {
	d, ok := p.described()
	if !ok {
		p.found("I36", "the topic is gone")
		return
	}
	p.commands, p.claimed = int(d.Generation), false
	if d.T.Clock != 0 {
		// I35: everything acknowledged up to T is here.
		for _, a := range p.acked {
			if a.clock > d.T.Clock {
				continue
			}
			p.claimed = d.Effective == mirror.TypeSync
			if int(a.at) >= len(p.copied.records) || p.copied.records[a.at] != a.record {
				p.found("I35", "record %d at offset %d was acknowledged before T and is not in the copy, which ends at %d", a.record, a.at, len(p.copied.records))
			}
		}
	}
	if d.Reporting && p.copied.mode != mirror.FetchSync {
		p.found("C6", "the source may wait for floors of the topic, which is %v, and no sync fetch brings them", d.Phase)
	}
	if p.bounds.Rest && p.spent() {
		p.checkRest()
	}
	if d.Effective != mirror.TypeSync {
		return
	}
	if d.Desired != mirror.TypeSync {
		p.found("I36", "SYNC is shown and %v is wanted", d.Desired)
	}
	if d.Armed != 1 {
		p.found("C1", "SYNC is shown and the partition is not armed")
	}
	if d.T.Clock == 0 {
		p.found("C4", "SYNC is shown without T")
	}
	if p.used[pactRestore] > 0 {
		return // what it claims is what an older journal says, until the source is heard
	}
	if d.Unconfirmed || d.Partial || p.release > max(d.Release, p.answered) && p.now-p.told <= pactLease {
		return // the operator of the source has released it, which the lease tells in time (F19)
	}
	if !p.ledger.Confirms(pactKey, pactTopic, d.Epoch) {
		p.found("I35", "SYNC is shown under registration %d, which the ledger does not hold", d.Epoch)
	} else if g := p.leader.gate; !g.on || g.gate.Epoch != d.Epoch {
		p.found("I35", "SYNC is shown under registration %d, and the source's leader does not wait for it", d.Epoch)
	}
}

// spent reports whether nothing more will be asked of either side: what is on its way may still arrive.
func (p *pact) spent() bool {
	b := p.bounds
	return p.used[pactChange] == int8(b.Changes) && p.used[pactRelease] == int8(b.Releases) && p.used[pactSrcRestart] == int8(b.SrcRestarts) &&
		p.used[pactDstRestart] == int8(b.DstRestarts) && p.used[pactElect] == int8(b.Elections) && p.used[pactRestore] == int8(b.Restores)
}

// checkRest lets everything that is on its way arrive once, or never, and both sides go on without faults:
// what the operator wants is reached (I65), and no source waits for a mirror that does not report (I40).
func (p *pact) checkRest() {
	p.goOn(true)
	p.goOn(false)
}

func (p *pact) goOn(arrives bool) {
	q := p.fork()
	if !arrives {
		q.net, q.proofs = nil, nil
	}
	for range 2 {
		late := append(append([]message{}, q.net...), q.proofs...)
		q.net, q.proofs = nil, nil
		for _, m := range late {
			q.deliver(m)
		}
	}
	for range 60 {
		q.now += pactSecond
		q.hearAll()
		q.acknowledge()
		q.fetch()
		q.tellMirror(mirror.Tick{})
		late := append(append([]message{}, q.net...), q.proofs...)
		q.net, q.proofs = nil, nil
		for _, m := range late {
			q.deliver(m)
		}
		if d, _ := q.described(); q.rests(d) == "" {
			return
		}
	}
	d, _ := q.described()
	p.found("I65", "a minute without faults, and %s", q.rests(d))
}

// rests says what is not as it should be, "" if nothing.
func (p *pact) rests(d mirror.TopicDescription) string {
	entry, _ := p.ledger.Look(pactKey, pactTopic)
	switch {
	case len(p.leader.queue) > 0:
		return "the leader has not heard of the ledger"
	case d.Desired == mirror.TypeSync && d.Phase != mirror.Sync:
		return fmt.Sprintf("SYNC is wanted and the topic is %v (%s)", d.Phase, d.ErrorMessage)
	case d.Desired == mirror.TypeSync && entry.Epoch != d.Epoch:
		return fmt.Sprintf("SYNC is claimed under registration %d, the ledger holds %d", d.Epoch, entry.Epoch)
	case d.Desired == mirror.TypeAsync && entry.Epoch != 0:
		return fmt.Sprintf("ASYNC is wanted and the source gates under %d: an orphan (I40)", entry.Epoch)
	case int(p.leader.hw) != len(p.leader.records):
		return "producers still wait"
	}
	return ""
}
