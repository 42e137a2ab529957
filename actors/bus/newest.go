package bus

import (
	"context"

	"lockstep/actors/core"
)

// question is what commands to a source are about.
type question struct {
	mirror core.MirrorName
	topic  core.TopicID
}

// outgoing is the newest command about a topic; its attempts end with ctx.
type outgoing struct {
	generation core.Generation
	ctx        context.Context
	withdraw   context.CancelFunc
}

// newest makes an attempt of a command that ends when a newer command about the topic begins, with the connection
// that carries it. A source that speaks only the KIP reads no numbers: a Register that it meets after a later
// Unregister would gate it on nobody (F16, model C4).
func (b *Bus) newest(name core.MirrorName, topic core.TopicID, g core.Generation, send attempt) attempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.out[question{name, topic}]
	if o.ctx == nil || o.generation < g {
		if o.withdraw != nil && newerWithdrawsOlder {
			o.withdraw()
		}
		o.generation = g
		o.ctx, o.withdraw = context.WithCancel(b.ctx)
		b.out[question{name, topic}] = o
	}
	return func(ctx context.Context, way transport) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(o.ctx, cancel)()
		return send(ctx, way)
	}
}

// attempt carries one attempt of a command one of the two ways.
type attempt func(ctx context.Context, way transport) error
