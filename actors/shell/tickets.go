package shell

import (
	"sync"
	"sync/atomic"

	"lockstep/journal"
)

// tickets is what an actor and the journal's writer share. It outlives a restart: entries that the old
// instance queued must be on disk, or refused, before the new one replays (R12).
type tickets struct {
	issued  journal.Seq // newest assigned; the actor's own
	durable atomic.Int64
	posted  atomic.Bool // one durable message is in the mailbox: later groups ride with it

	mu  sync.Mutex
	err error // the first; nothing is durable after it

	starts    int      // times that an instance began; the actor's own
	reported  bool     // Lost was called; the actor's own
	finishing []func() // callers of Close; the actor's own
}

// settle records what the journal says; it reports whether the actor has to be told.
func (t *tickets) settle(seq journal.Seq, err error) bool {
	if err != nil {
		t.mu.Lock()
		if t.err == nil {
			t.err = err
		}
		t.mu.Unlock()
	} else {
		for {
			old := t.durable.Load()
			if int64(seq) <= old || t.durable.CompareAndSwap(old, int64(seq)) {
				break
			}
		}
	}
	return t.posted.CompareAndSwap(false, true)
}

func (t *tickets) read() (journal.Seq, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return journal.Seq(t.durable.Load()), t.err
}
