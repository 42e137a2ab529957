package storm

import (
	"context"
	"strings"
	"time"

	"lockstep/protocol/admin"
)

// fault is one thing that goes wrong and is put right again; do returns when it has been.
type fault struct {
	name string
	do   func(*run, context.Context) error
}

func (f fault) matches(word string) bool { return strings.Contains(f.name, word) }

// faults leave both sites alive. What a release or a return to ASYNC acknowledges without the destination is
// copied before the next fault, since each is followed by SYNC.
var faults = []fault{
	{"pause-destination", func(r *run, _ context.Context) error { return r.paused(r.sites.destination) }},
	{"pause-source", func(r *run, _ context.Context) error { return r.paused(r.sites.source) }},
	{"kill-destination", func(r *run, _ context.Context) error { return r.killed(r.sites.destination) }},
	{"kill-source", func(r *run, _ context.Context) error { return r.killed(r.sites.source) }},
	{"kill-both", func(r *run, _ context.Context) error {
		r.sites.source.Kill()
		r.pause(300 * time.Millisecond)
		r.sites.destination.Kill()
		r.pause(300 * time.Millisecond)
		if err := r.sites.destination.start(); err != nil {
			return err
		}
		r.pause(300 * time.Millisecond)
		return r.sites.source.start()
	}},
	{"kill-source-while-destination-paused", func(r *run, _ context.Context) error { return r.killedWhile(r.sites.source, r.sites.destination) }},
	{"kill-destination-while-source-paused", func(r *run, _ context.Context) error { return r.killedWhile(r.sites.destination, r.sites.source) }},
	{"cut-nats", func(r *run, _ context.Context) error {
		r.sites.line.cut()
		r.pause(2 * time.Second)
		return r.sites.line.open()
	}},
	{"cut-nats-and-kill-source", func(r *run, _ context.Context) error {
		r.sites.line.cut()
		r.pause(time.Second)
		if err := r.killed(r.sites.source); err != nil {
			return err
		}
		return r.sites.line.open()
	}},
	{"flap-pauses", func(r *run, _ context.Context) error {
		for range 6 {
			s := r.sites.either(r.rng)
			if err := r.paused(s); err != nil {
				return err
			}
			r.pause(200 * time.Millisecond)
		}
		return nil
	}},
	{"move-source-leaders", func(r *run, ctx context.Context) error { return r.bounced(ctx, r.sites.source) }},
	{"move-destination-leaders", func(r *run, ctx context.Context) error { return r.bounced(ctx, r.sites.destination) }},
	{"release", func(r *run, ctx context.Context) error { return r.sites.release(ctx) }},
	{"release-and-kill-destination", func(r *run, ctx context.Context) error {
		if err := r.sites.release(ctx); err != nil {
			return err
		}
		r.pause(1500 * time.Millisecond)
		return r.killed(r.sites.destination)
	}},
	{"release-and-kill-source", func(r *run, ctx context.Context) error {
		if err := r.sites.release(ctx); err != nil {
			return err
		}
		r.pause(1500 * time.Millisecond)
		return r.killed(r.sites.source)
	}},
	{"demote-and-kill-destination", func(r *run, ctx context.Context) error { return r.demoted(ctx, r.sites.destination) }},
	{"demote-and-kill-source", func(r *run, ctx context.Context) error { return r.demoted(ctx, r.sites.source) }},
}

// demoted takes the topic to ASYNC and back, with a kill somewhere in it.
func (r *run) demoted(ctx context.Context, victim *site) error {
	if err := r.sites.alter(ctx, admin.Async); err != nil {
		return err
	}
	r.pause(400 * time.Millisecond)
	if r.rng.IntN(2) == 0 {
		if err := r.sites.alter(ctx, admin.Sync); err != nil {
			return err
		}
		r.pause(600 * time.Millisecond)
		return r.killed(victim)
	}
	if err := r.killed(victim); err != nil {
		return err
	}
	return r.sites.alter(ctx, admin.Sync)
}

func (r *run) paused(s *site) error {
	if err := s.Pause(); err != nil {
		return err
	}
	r.pause(1500 * time.Millisecond)
	return s.Resume()
}

func (r *run) killed(s *site) error {
	s.Kill()
	r.pause(500 * time.Millisecond)
	return s.start()
}

// killedWhile kills one site while the other hears nothing, and lets that one go on before, during or after
// the restart.
func (r *run) killedWhile(victim, other *site) error {
	if err := other.Pause(); err != nil {
		return err
	}
	r.pause(800 * time.Millisecond)
	victim.Kill()
	r.pause(300 * time.Millisecond)
	switch r.rng.IntN(3) {
	case 0:
		if err := other.Resume(); err != nil {
			return err
		}
		r.pause(300 * time.Millisecond)
		return victim.start()
	case 1:
		resumed := make(chan error, 1)
		delay := time.Duration(r.rng.Int64N(int64(400 * time.Millisecond)))
		go func() { time.Sleep(delay); resumed <- other.Resume() }()
		if err := victim.start(); err != nil {
			return err
		}
		return <-resumed
	default:
		if err := victim.start(); err != nil {
			return err
		}
		r.pause(12 * time.Second) // also longer than the lease, and than any connection lives
		return other.Resume()
	}
}

// bounced stops and starts one logical broker: its leaders move, with an epoch each.
func (r *run) bounced(ctx context.Context, s *site) error {
	id := 1 + r.rng.IntN(s.Brokers)
	if err := s.broker(ctx, id, "stop"); err != nil {
		return err
	}
	r.pause(500 * time.Millisecond)
	return s.broker(ctx, id, "start")
}

// ends are ways in which the source goes for good and the destination is opened, with kills on the way.
var ends = []fault{
	{"failover", func(r *run, ctx context.Context) error {
		r.sites.source.Kill()
		return r.sites.stop(ctx)
	}},
	{"failover-while-killed", func(r *run, ctx context.Context) error {
		r.sites.source.Kill()
		if err := r.sites.stop(ctx); err != nil {
			return err
		}
		for range 3 { // each STOPPING step takes milliseconds
			r.pause(40 * time.Millisecond)
			r.sites.destination.Kill()
			if err := r.sites.destination.start(); err != nil {
				return err
			}
		}
		return nil
	}},
	{"failover-after-destination-kill", func(r *run, ctx context.Context) error {
		r.sites.destination.Kill()
		r.pause(300 * time.Millisecond)
		r.sites.source.Kill()
		if err := r.sites.destination.start(); err != nil {
			return err
		}
		return r.sites.stop(ctx)
	}},
	{"failover-after-pauses", func(r *run, ctx context.Context) error {
		if err := r.paused(r.sites.destination); err != nil {
			return err
		}
		if err := r.paused(r.sites.source); err != nil {
			return err
		}
		r.sites.source.Kill()
		r.pause(100 * time.Millisecond)
		return r.sites.stop(ctx)
	}},
	{"failover-of-a-paused-source", func(r *run, ctx context.Context) error {
		// It never goes on: what it might acknowledge afterwards is the gate's matter, not the copy's.
		if err := r.sites.source.Pause(); err != nil {
			return err
		}
		if err := r.sites.stop(ctx); err != nil {
			return err
		}
		r.pause(time.Second)
		r.sites.source.Kill()
		return nil
	}},
}
