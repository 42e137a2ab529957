package shell

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// Inbox is an actor without a machine: it carries messages of one kind to one function, in order. What
// it holds can be derived again, so it has no journal.
type Inbox[M any] struct {
	system *System
	pid    *actor.PID

	mu     sync.RWMutex
	closed bool
}

// SpawnInbox starts it. handle runs on the inbox's goroutine and must not block.
func SpawnInbox[M any](system *System, id string, handle func(M)) *Inbox[M] {
	i := &Inbox[M]{system: system, pid: system.actors.NewLocalPID(id)}
	system.spawn(id, func() actor.Actor { return &inboxActor[M]{handle: handle} })
	return i
}

// Post hands over one message; a closed inbox forgets it.
func (i *Inbox[M]) Post(m M) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if !i.closed {
		i.system.actors.Root.Send(i.pid, post[M]{m})
	}
}

// Close refuses everything from now on and calls done when what was accepted has been handled.
func (i *Inbox[M]) Close(done func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.closed {
		i.closed = true
		i.system.actors.Root.Send(i.pid, finish{done})
	}
}

type post[M any] struct{ m M }

type inboxActor[M any] struct {
	handle func(M)
	done   func()
}

func (a *inboxActor[M]) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case post[M]:
		a.handle(m.m)
	case finish:
		a.done = m.done
		c.Stop(c.Self())
	case *actor.Stopped:
		a.done()
	}
}
