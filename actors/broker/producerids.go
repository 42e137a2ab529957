package broker

import (
	"sync"

	"lockstep/actors/core/controller"
	"lockstep/actors/shell"
)

const producerIDBlock = 1000

// producerIDs hands out the ids of one broker's block and asks for the next block when it is used up.
type producerIDs struct {
	cluster *Cluster

	mu      sync.Mutex
	id, end int64
	asking  bool
	waiting []func(id int64, text string)
}

func (p *producerIDs) next(reply func(id int64, text string)) {
	p.mu.Lock()
	if p.id < p.end {
		id := p.id
		p.id++
		p.mu.Unlock()
		reply(id, "")
		return
	}
	p.waiting = append(p.waiting, reply)
	ask := !p.asking
	p.asking = true
	p.mu.Unlock()
	if ask {
		p.cluster.AllocateProducerIDs(controller.AllocateProducerIDs{Count: producerIDBlock}, p.answered)
	}
}

func (p *producerIDs) answered(answer any) {
	p.mu.Lock()
	waiting := p.waiting
	p.waiting, p.asking = nil, false
	text := ""
	switch a := answer.(type) {
	case controller.ProducerIDs:
		p.id, p.end = a.First, a.First+a.Count
	case shell.Failed:
		text = a.Text
	}
	p.mu.Unlock()
	for _, reply := range waiting {
		if text != "" {
			reply(-1, text)
		} else {
			p.next(reply)
		}
	}
}

// ownPrefix is what all producer ids of this cluster begin with, 0 until there are some. The controller
// replays before the logs do.
func (c *Cluster) ownPrefix() int32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.prefix
}

// sawProducerID notes the highest own id of a log: a control stream that was restored must not hand it
// out again (C13).
func (c *Cluster) sawProducerID(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.highest = max(c.highest, id)
}

func (c *Cluster) highestProducerID() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.highest
}
