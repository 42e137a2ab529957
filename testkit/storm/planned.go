package storm

import (
	"context"
	"fmt"
	"time"

	"lockstep/protocol/messages"
)

// planned are ends in which both sites live, or come back: the topic is switched over, with kills and pauses on the way.
var planned = []fault{
	{"switchover", func(r *run, ctx context.Context) error { return r.switched(ctx, func() error { return nil }) }},
	{"switchover-while-destination-killed", func(r *run, ctx context.Context) error {
		return r.switched(ctx, func() error { return r.killedSoon(r.sites.destination) })
	}},
	{"switchover-while-source-killed", func(r *run, ctx context.Context) error {
		return r.switched(ctx, func() error { return r.killedSoon(r.sites.source) })
	}},
	{"switchover-while-both-killed", func(r *run, ctx context.Context) error {
		return r.switched(ctx, func() error {
			if err := r.killedSoon(r.sites.source); err != nil {
				return err
			}
			return r.killedSoon(r.sites.destination)
		})
	}},
	{"switchover-while-paused", func(r *run, ctx context.Context) error {
		return r.switched(ctx, func() error { return r.paused(r.sites.either(r.rng)) })
	}},
	{"switchover-without-nats", func(r *run, ctx context.Context) error {
		r.sites.line.cut()
		return r.switched(ctx, func() error { return nil })
	}},
}

// killedSoon kills within the tens of milliseconds that the steps of a switchover take.
func (r *run) killedSoon(s *site) error {
	r.pause(60 * time.Millisecond)
	s.Kill()
	return s.start()
}

// switched gives the command, lets something go wrong, and gives the command again as often as it came to nothing: the
// source's time-out may end it, or it died with a process before it was on disk. In the end the source must say that it
// handed over.
func (r *run) switched(ctx context.Context, trouble func() error) error {
	_ = r.sites.switchOver(ctx) // what became of it, the destination says
	if err := trouble(); err != nil {
		return err
	}
	again := time.Now().Add(time.Second)
	err := r.await(ctx, "switched over", func(now messages.DescribeClusterMirrorsResponseTopic) bool {
		if now.Phase == "SYNC" && !now.SwitchingOver && time.Now().After(again) {
			_ = r.sites.switchOver(ctx)
			again = time.Now().Add(time.Second)
		}
		return now.Phase == "STOPPED"
	})
	if err != nil {
		return err
	}
	sources, err := r.sites.source.admin.Sources(ctx)
	if err != nil {
		return fmt.Errorf("ask the source what it handed over: %w", err)
	}
	for _, s := range sources {
		if s.TopicName == topic && s.Standing != "SUPERSEDED" {
			return fmt.Errorf("the destination takes writes, and the source is %s", s.Standing)
		}
	}
	return nil
}

func (s *sites) switchOver(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	results, err := s.destination.admin.SwitchTopics(ctx, mirror, []string{topic})
	return failure(results, err)
}
