package model

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// pactStep is the kind of an action of a pact.
type pactStep actionKind

const (
	pactProduce pactStep = iota
	pactAck              // the leader's HW follows its gate
	pactFetch
	pactHear    // the leader applies the next thing the ledger says
	pactDeliver // message a of the network arrives, and stays there
	pactProve   // evidence a arrives
	pactBeat    // the mirror's clock comes round
	pactRelease
	pactChange // the operator of the destination wants the other type
	pactElect  // a new leader of the source, clean; a records that nobody was acknowledged are gone
	pactSrcRestart
	pactDstRestart
	pactRestore
	pactTick
	pactLongTick
	pactActions
)

func (p *pact) enabled() []action {
	b := p.bounds
	if p.commands > b.Commands {
		return nil
	}
	var all []action
	tears := b.Torn && int(p.used[pactDstRestart]) < b.DstRestarts
	add := func(step pactStep, a int) {
		all = append(all, action{kind: actionKind(step), a: int8(a)})
		switch step {
		case pactDeliver, pactProve, pactBeat, pactChange:
			for torn := int8(1); tears && torn <= 2; torn++ {
				all = append(all, action{kind: actionKind(step), a: int8(a), b: torn})
			}
		default: // tells the mirror nothing new
		}
	}
	for _, one := range []struct {
		step pactStep
		most int
	}{
		{pactProduce, b.Records}, {pactRelease, b.Releases}, {pactChange, b.Changes}, {pactSrcRestart, b.SrcRestarts},
		{pactDstRestart, b.DstRestarts}, {pactRestore, b.Restores}, {pactTick, b.Ticks}, {pactLongTick, b.LongTicks},
	} {
		if int(p.used[one.step]) < one.most {
			add(one.step, 0)
		}
	}
	if int(p.used[pactElect]) < b.Elections {
		for lost := range len(p.leader.records) - int(p.leader.hw) + 1 {
			add(pactElect, lost)
		}
	}
	if p.leader.hw < p.reach() {
		add(pactAck, 0)
	}
	if len(p.leader.queue) > 0 {
		add(pactHear, 0)
	}
	add(pactFetch, 0)
	add(pactBeat, 0)
	for i := range p.net {
		add(pactDeliver, i)
	}
	for i := range p.proofs {
		add(pactProve, i)
	}
	return all
}

func (p *pact) do(a action) {
	step := pactStep(a.kind)
	switch step {
	case pactProduce, pactRelease, pactChange, pactElect, pactSrcRestart, pactDstRestart, pactRestore, pactTick, pactLongTick:
		p.used[step]++
	default: // as often as it likes
	}
	if p.tear = a.b; p.tear > 0 {
		p.used[pactDstRestart]++
	}
	switch step {
	case pactProduce:
		p.leader.records = append(append([]int8(nil), p.leader.records...), p.used[pactProduce])
		p.say("record %d is produced", p.used[pactProduce])
	case pactAck:
		p.say("HW follows")
		p.acknowledge()
	case pactFetch:
		p.say("the destination fetches, mode %d", p.copied.mode)
		p.fetch()
	case pactHear:
		p.say("the leader hears of the ledger")
		p.hear()
	case pactDeliver:
		p.say("arrives: %s", p.net[a.a])
		p.deliver(p.net[a.a])
	case pactProve:
		p.say("arrives: %s", p.proofs[a.a])
		p.deliver(p.proofs[a.a])
	case pactBeat:
		p.say("the mirror looks what is due")
		p.tellMirror(mirror.Tick{})
	case pactRelease:
		p.say("the source's operator releases the mirror")
		topics := []core.TopicID{pactTopic}
		if p.bounds.Whole {
			topics = nil
		}
		p.tellLedger(registration.ReleaseMirror{Mirror: pactKey.Mirror, Topics: topics, AfterLease: p.bounds.AfterLease, Lease: pactLease})
	case pactChange:
		wants := []mirror.Type{mirror.TypeSync, mirror.TypeAsync}[p.used[pactChange]%2]
		p.say("the destination's operator wants %v", wants)
		p.tellMirror(mirror.AlterType{Topics: []core.TopicID{pactTopic}, Type: wants})
	case pactElect:
		p.say("the source elects another leader, %d records nobody was acknowledged are gone", a.a)
		p.elect(int(a.a))
	case pactSrcRestart:
		p.say("the source restarts")
		p.restartSource()
	case pactDstRestart:
		p.say("the destination restarts")
		p.restartMirror()
	case pactRestore:
		p.say("the destination comes back with its first journal")
		p.bringBack(p.first)
	case pactTick:
		p.say("700 ms pass")
		p.now += 7 * pactSecond / 10
		p.ledgerLooks()
	case pactLongTick:
		p.say("31 s pass")
		p.now += 31 * pactSecond
		p.ledgerLooks()
	default:
		panic(fmt.Sprintf("model: step %d", step))
	}
	p.tear = 0
	if !p.bounds.Lag {
		p.hearAll()
	}
}

// elect gives the source another leader; the election carries every registration published before it (D9).
func (p *pact) elect(lost int) {
	p.hearAll() // which may acknowledge what had waited
	l := &p.leader
	l.epoch++
	l.records = append([]int8(nil), l.records[:max(int(l.hw), len(l.records)-lost)]...)
	if l.gate.on {
		p.gateBegins(l.gate.gate)
	}
}

func (p *pact) restartSource() {
	s, err := ledgers.Restore("src", ledgers.Snapshot(p.src))
	if err != nil {
		panic(err)
	}
	p.src, p.ledger = s, registration.Ledger{}
	p.leader.queue, p.leader.gates, p.leader.gate = nil, image.Registrations{}, gateHeld{}
	p.leader.epoch++
	p.tellLedger(registration.Resume{Topics: []core.TopicID{pactTopic}, Lease: pactLease})
	p.hearAll()
}

func (p *pact) restartMirror() { p.bringBack(mirrors.Snapshot(p.dst)) }

func (p *pact) bringBack(journal []byte) {
	s, err := mirrors.Restore("m", journal)
	if err != nil {
		panic(err)
	}
	p.dst = s
	p.copied.mode, p.copied.reporting = mirror.FetchOff, false
	p.tellMirror(mirror.Republish{})
	p.tellMirror(mirror.Resume{})
}

func (m message) String() string {
	switch c := m.toSource.(type) {
	case registration.RegisterTopic:
		return fmt.Sprintf("Register(%d, echo %d)", c.Generation, c.Echo)
	case registration.UnregisterTopic:
		return fmt.Sprintf("Unregister(%d)", c.Generation)
	default: // for the mirror
		return fmt.Sprintf("%T%+v", m.toMirror, m.toMirror)
	}
}

// ledgerLooks ends what time alone ends at the source.
func (p *pact) ledgerLooks() {
	if p.bounds.AfterLease {
		p.tellLedger(registration.Tick{})
	}
}
