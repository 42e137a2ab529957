package sim

import (
	"errors"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

const attemptTimeout = 5 * sec

// sendRegister carries one attempt: even ones over the Kafka port, odd ones over NATS while its link is up.
func (p *process) sendRegister(c mirror.SendRegister) {
	key, path := core.MirrorKey{Cluster: p.site.id, Mirror: c.Mirror}, p.path(c.Topic)
	p.control(command{c.Mirror, c.Topic}, c.Generation, c.Attempt, attemptTimeout, func(source *process, answer func(any)) { source.register(key, c, path, answer) },
		func(answer any, err error) {
			if err == nil {
				p.mirrorTell(c.Mirror, answer.(mirror.RegisterAnswered))
			}
		})
}

func (p *process) sendSupersede(c mirror.SendSupersede) {
	key := core.MirrorKey{Cluster: p.site.id, Mirror: c.Mirror}
	p.control(command{c.Mirror, c.Topic}, c.Generation, c.Attempt, attemptTimeout, func(source *process, answer func(any)) { source.supersede(key, c, answer) },
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
	p.control(command{c.Mirror, c.Topic}, c.Generation, attempt, timeout, func(source *process, answer func(any)) { source.unregister(key, c, answer) },
		func(answer any, err error) {
			switch {
			case err == nil:
				p.mirrorTell(c.Mirror, answer.(mirror.UnregisterAnswered))
			case c.Deadline != 0 && (errors.Is(err, errRefused) || errors.Is(err, errDial)):
				p.mirrorTell(c.Mirror, mirror.UnregisterAnswered{Topic: c.Topic, Generation: c.Generation, Code: perr.NetworkException, Text: err.Error()})
			}
		})
}

// command is what at most one generation of is out at a time.
type command struct {
	mirror core.MirrorName
	topic  core.TopicID
}

// sent is the newest generation of a command: what is out of it ends when a newer one begins, with its connection (F16).
type sent struct {
	generation core.Generation
	calls      []*call
}

func (p *process) only(of command, g core.Generation) *sent {
	s := p.sent[of]
	if s == nil || s.generation < g {
		if s != nil {
			for _, c := range s.calls {
				c.abandon()
			}
		}
		s = &sent{generation: g}
		p.sent[of] = s
	}
	return s
}

// control carries one registration command the way its attempt says.
func (p *process) control(of command, g core.Generation, attempt int32, timeout int64, handle func(*process, func(any)), done func(any, error)) {
	l := p.site.world.net.link(p.site, p.site.world.sites[0])
	s := p.only(of, g)
	if attempt%2 == 0 || !l.nats() {
		s.calls = slices.DeleteFunc(s.calls, func(c *call) bool { return c.over })
		s.calls = append(s.calls, l.ask(p, true, min(timeout, p.site.world.options.DialTimeout), timeout, handle, done))
		return
	}
	answered := false
	l.datagram(true, func(source *process) {
		handle(source, func(answer any) {
			l.datagram(false, func(back *process) {
				if back == p && !answered && p.sent[of] == s {
					answered = true
					done(answer, nil)
				}
			})
		})
	})
}
