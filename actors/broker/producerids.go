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
	p.mu.Unlock()
	p.fill()
}

// fill asks for the next block, unless it is on its way.
func (p *producerIDs) fill() {
	p.mu.Lock()
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

// sawProducerIDs notes the highest ids of a log, by prefix. Logs also hold ids of other clusters.
func (c *Cluster) sawProducerIDs(highest map[int32]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for prefix, id := range highest {
		c.ids[prefix] = max(c.ids[prefix], id)
	}
}

// highestProducerID is the highest id with the prefix of id in any log that was replayed, 0 if there is
// none. A block that begins at or below it comes from a control stream that was restored (C13).
func (c *Cluster) highestProducerID(id int64) int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.ids[int32(id>>32)]
}
