package sim

import (
	"math/rand/v2"

	"lockstep/actors/core"
	"lockstep/actors/core/registration"
	"lockstep/protocol/perr"
)

// hold is --release-sync --hold at the source, now and then with --forget, and --unhold some time later.
func (f *faults) hold(r *rand.Rand) {
	w := f.world
	home, d := w.sites[0].serving(), pick(r, w.sites[1:])
	cmd := registration.ReleaseMirror{Mirror: mirrorName(d), Hold: true}
	if chance(r, 0.5) {
		cmd.Topics = []core.TopicID{topicID(r.IntN(len(w.options.Topics)))}
	} else {
		cmd.Forget = chance(r, 0.3)
	}
	if home == nil || w.holds[d.index] {
		return
	}
	w.holds[d.index] = true
	w.held++
	w.say("%s: the operator releases %s and holds it", w.sites[0].id, cmd.Mirror)
	w.oracle.counts.Releases++
	home.registration.ask(func(ref core.RequestID) registration.Command { cmd.Ref = ref; return cmd }, func(any) {})
	w.after(logUniform(r, 200*ms, 40*sec), func() { w.unhold(d) })
}

// unhold is repeated until it is answered: nothing may stay held for ever because of a name (C4).
func (w *world) unhold(d *site) {
	if !w.holds[d.index] || w.sites[0].gone {
		return
	}
	home := w.sites[0].serving()
	w.after(sec, func() { w.unhold(d) })
	if home == nil {
		return
	}
	asked := w.held
	home.registration.ask(func(ref core.RequestID) registration.Command {
		return registration.LiftHold{Ref: ref, Mirror: mirrorName(d)}
	}, func(answer any) {
		a, ok := answer.(registration.ReleaseAnswered)
		if !ok {
			return
		}
		for _, row := range w.ledgerOf(home) {
			if row.Held && row.Key.Mirror == mirrorName(d) {
				if a.Code != perr.None && asked == w.held { // no hold came behind the question
					w.found("I36", "%s: topic %s of mirror %s is held, and its operator's --unhold is refused: %s", home.site.id, row.Topic, row.Key.Mirror, a.Text)
				}
				return // an answer of before
			}
		}
		w.holds[d.index] = false
	})
}

// forget is --release-sync --forget: the name is free for another cluster, and for this one again.
func (f *faults) forget(r *rand.Rand) {
	w := f.world
	home, d := w.sites[0].serving(), pick(r, w.sites[1:])
	if home == nil {
		return
	}
	w.oracle.counts.Releases++
	home.registration.ask(func(ref core.RequestID) registration.Command {
		return registration.ReleaseMirror{Ref: ref, Mirror: mirrorName(d), Forget: true}
	}, func(any) {})
}

func (w *world) ledgerOf(p *process) []registration.Registration {
	if p.registration.state == nil {
		return nil
	}
	out := p.registration.spec.machine.Decide(p.registration.state, p.clock(), registration.Describe{})
	for _, f := range out.Late {
		if described, ok := f.(registration.Described); ok {
			return described.Ledger.Registrations
		}
	}
	return nil
}
