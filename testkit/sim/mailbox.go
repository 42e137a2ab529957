package sim

// mailbox is the queue of one actor: first in first out over all senders, one message a step. Between two
// steps anything else may run. It belongs to one life of a process and dies with it.
type mailbox struct {
	home  *process
	name  string
	queue []func()
	first int  // of the queue; what is before it was handled
	due   bool // a step is scheduled
	next  func()
	slow  int64 // ns: until then every step of it is late (a starved actor)
	stuck int64 // ns: until then it takes none
}

func (p *process) newMailbox(name string) *mailbox {
	m := &mailbox{home: p, name: name}
	m.next = m.step
	return m
}

// post hands over one message. A dead process forgets it.
func (m *mailbox) post(message func()) {
	if m.home.dead {
		return
	}
	m.queue = append(m.queue, message)
	m.schedule()
}

func (m *mailbox) schedule() {
	if m.due || m.first == len(m.queue) {
		return
	}
	m.due = true
	w := m.home.site.world
	w.after(w.stepDelay(m), m.next)
}

func (m *mailbox) step() {
	m.due = false
	p := m.home
	switch {
	case p.dead:
		m.queue, m.first = nil, 0
		return
	case p.pausedUntil > p.site.world.now: // the whole process stands still
		m.due = true
		p.site.world.after(p.pausedUntil-p.site.world.now, m.next)
		return
	}
	if w := p.site.world; m.stuck > w.now {
		m.due = true
		w.after(min(m.stuck-w.now, 100*ms), m.next)
		return
	}
	message := m.queue[m.first]
	m.queue[m.first] = nil
	if m.first++; m.first == len(m.queue) || m.first >= 1024 {
		m.queue, m.first = m.queue[:copy(m.queue, m.queue[m.first:])], 0
	}
	p.site.world.steps++
	message()
	m.schedule()
}

// stepDelay is how long an actor waits for its turn, by the scheduler of this seed.
func (w *world) stepDelay(m *mailbox) int64 {
	if m.slow > w.now {
		return within(w.sched, ms, 30*ms)
	}
	switch w.options.Scheduler {
	case schedulerBurst: // mostly an actor runs until it is idle
		if w.sched.IntN(8) > 0 {
			return 200
		}
		return within(w.sched, 1*us, 300*us)
	case schedulerSlow: // long queues everywhere
		return within(w.sched, 1*us, 2*ms)
	default:
		return within(w.sched, 500, 60*us)
	}
}
