package sim

import (
	"errors"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

const attemptTimeout = 5 * sec

// sendRegister carries one attempt: even ones over the Kafka port, odd ones over NATS while its link is up.
func (p *process) sendRegister(c mirror.SendRegister) {
	key, path := core.MirrorKey{Cluster: p.site.id, Mirror: c.Mirror}, p.path(c.Topic)
	p.control(c.Mirror, c.Attempt, attemptTimeout, func(source *process, answer func(any)) { source.register(key, c, path, answer) },
		func(answer any, err error) {
			if err == nil {
				p.mirrorTell(c.Mirror, answer.(mirror.RegisterAnswered))
			}
		})
}

func (p *process) sendSupersede(c mirror.SendSupersede) {
	key := core.MirrorKey{Cluster: p.site.id, Mirror: c.Mirror}
	p.control(c.Mirror, c.Attempt, attemptTimeout, func(source *process, answer func(any)) { source.supersede(key, c, answer) },
		func(answer any, err error) {
			if err == nil {
				p.mirrorTell(c.Mirror, answer.(mirror.SupersedeAnswered))
			}
		})
}

// sendUnregister: a stop goes over the Kafka port alone, on a connection that ends with its deadline (C8).
func (p *process) sendUnregister(c mirror.SendUnregister) {
	key := core.MirrorKey{Cluster: p.site.id, Mirror: c.Mirror}
	attempt, timeout := c.Attempt, attemptTimeout
	if c.Deadline != 0 {
		attempt, timeout = 0, c.Deadline-p.mono()
	}
	if timeout <= 0 {
		return
	}
	p.control(c.Mirror, attempt, timeout, func(source *process, answer func(any)) { source.unregister(key, c, answer) },
		func(answer any, err error) {
			switch {
			case err == nil:
				p.mirrorTell(c.Mirror, answer.(mirror.UnregisterAnswered))
			case c.Deadline != 0 && (errors.Is(err, errRefused) || errors.Is(err, errDial)):
				p.mirrorTell(c.Mirror, mirror.UnregisterAnswered{Topic: c.Topic, Generation: c.Generation, Code: perr.NetworkException, Text: err.Error()})
			}
		})
}

// control carries one registration command the way its attempt says.
func (p *process) control(name core.MirrorName, attempt int32, timeout int64, handle func(*process, func(any)), done func(any, error)) {
	l := p.site.world.net.link(p.site, p.site.world.sites[0])
	if attempt%2 == 0 || !l.nats() {
		l.ask(p, true, min(timeout, p.site.world.options.DialTimeout), timeout, handle, done)
		return
	}
	answered := false
	l.datagram(true, func(source *process) {
		handle(source, func(answer any) {
			l.datagram(false, func(back *process) {
				if back == p && !answered {
					answered = true
					done(answer, nil)
				}
			})
		})
	})
}
