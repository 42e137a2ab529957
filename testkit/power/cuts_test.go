package power

import (
	"fmt"
	"testing"
)

// cut is where power is lost, and whether some of what was not synced survives.
type cut struct {
	what string
	some bool
}

const (
	oneSource      = "one volume of the source"
	source         = "the source"
	oneDestination = "one volume of the destination"
	destination    = "the destination"
	both           = "both sites"
)

// Every life ends with a last cut after which the source stays dead, so that the destination must have it all.
var lives = []struct {
	seed uint64
	cuts []cut
}{
	{1, []cut{{oneSource, false}, {source, false}, {destination, false}, {source, true}}},
	{2, []cut{{oneDestination, false}, {destination, true}, {oneDestination, true}, {source, false}}},
	{3, []cut{{both, false}, {oneSource, true}, {both, true}, {both, false}}},
	{4, []cut{{source, true}, {destination, false}, {both, true}, {both, true}}},
}

func TestNothingAcknowledgedDependsOnUnsyncedBytes(t *testing.T) {
	for _, life := range lives {
		t.Run(fmt.Sprint("seed ", life.seed), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, life.seed)
			for i, c := range life.cuts {
				p.write(20 + p.random.IntN(200))
				p.lose(c, i == len(life.cuts)-1)
			}
			p.failOver()
			p.everythingIsAt(p.dst)
		})
	}
}

// lose cuts power while records flow, brings back what is to come back, and checks what must hold then.
func (p *pair) lose(c cut, last bool) {
	p.t.Helper()
	all, one := p.random.Perm(brokers), p.random.IntN(brokers)
	switch c.what {
	case oneSource:
		p.src.cut([]int{one})
		p.acksGoOn()
		p.src.reinsert(one, p.keep(c.some))
	case oneDestination:
		p.dst.cut([]int{one})
		p.acksGoOn()
		p.dst.reinsert(one, p.keep(c.some))
	case source:
		p.src.cut(all)
		if last {
			p.src.die()
			return
		}
		p.src.reopen(p.keep(c.some))
	case destination:
		p.dst.cut(all)
		p.hold(p.floors())
		p.dst.reopen(p.keep(c.some))
	case both:
		p.src.cut(all)
		p.dst.cut(all)
		p.hold(p.floors())
		p.src.die()
		p.dst.reopen(p.keep(c.some))
		if last {
			return
		}
		p.src.reopen(p.keep(c.some))
	default:
		panic("no such cut: " + c.what)
	}
	p.acksGoOn()
	p.pause()
	p.everythingIsAt(p.src)
	p.src.whole()
	p.dst.whole()
}
