package broker

import (
	"sync"
	"sync/atomic"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/orders"
	"lockstep/actors/shell"
)

// publisher is the one ordered stream of facts: controller, registrations and mirrors are interleaved
// here, once, and every broker sees the same order (D9).
type publisher struct {
	mu    sync.Mutex
	image atomic.Pointer[image.Image] // moves before any feed hears: whoever checks it knows at least as much
	feeds []*feed
	gone  func(core.TopicID)
}

func newPublisher(gone func(core.TopicID)) *publisher {
	p := &publisher{gone: gone}
	p.image.Store(image.Empty())
	return p
}

func (p *publisher) newest() *image.Image { return p.image.Load() }

// publish appends facts to the stream. It is called in the order of their durability.
func (p *publisher) publish(facts []image.Fact) {
	p.mu.Lock()
	p.image.Store(image.ApplyAll(p.image.Load(), facts))
	for _, f := range p.feeds {
		f.post(facts)
	}
	p.mu.Unlock()
	for _, fact := range facts {
		if gone, ok := fact.(image.TopicGone); ok {
			p.gone(gone.ID)
		}
	}
}

// settle calls f once every broker that is not held back has acted on what was published before.
func (p *publisher) settle(f func()) {
	left := atomic.Int64{}
	left.Store(int64(len(p.feeds)))
	for _, feed := range p.feeds {
		feed.inbox.Post(func() {
			if left.Add(-1) == 0 {
				f()
			}
		})
	}
}

// feed carries the stream into the image of one broker and turns what changed into roles.
type feed struct {
	broker *Broker
	inbox  *shell.Inbox[func()]
	image  atomic.Pointer[image.Image]
	held   bool // the inbox's own, as is kept
	kept   []image.Fact
}

func newFeed(b *Broker) *feed {
	f := &feed{broker: b}
	f.image.Store(image.Empty())
	f.inbox = shell.SpawnInbox(b.cluster.system, "image/"+b.name(), func(work func()) { work() })
	return f
}

func (f *feed) post(facts []image.Fact) { f.inbox.Post(func() { f.receive(facts) }) }

func (f *feed) setHold(hold bool) {
	f.inbox.Post(func() {
		f.held = hold
		if !hold {
			facts := f.kept
			f.kept = nil
			f.receive(facts)
		}
	})
}

func (f *feed) receive(facts []image.Fact) {
	if f.held {
		f.kept = append(f.kept, facts...)
		return
	}
	before := f.image.Load()
	now := image.ApplyAll(before, facts)
	f.image.Store(now)
	for _, id := range orders.Touched(facts, before, now) {
		if f.assigns(now, id) {
			f.bring(id)
		} else if _, made := f.broker.Replica(id); made || f.assigns(before, id) {
			f.broker.drop(id)
		}
	}
}

func (f *feed) assigns(img *image.Image, id core.PartitionID) bool {
	p, known := img.Partition(id)
	return known && f.broker.assigned(p)
}

// bring makes a replica that the image assigns, and tells it its role.
func (f *feed) bring(id core.PartitionID) {
	if r := f.broker.ensure(id); r != nil {
		r.tellRole()
	}
}

// dropped is told when nothing of a replica is left: the topic may be there again under the same id, as
// mirrored topics keep theirs. The newest image is asked besides: one that lags behind the deletion would bring the
// replica back without its log, as the leader of an epoch that a mirror knows to be longer.
func (f *feed) dropped(id core.PartitionID) {
	f.inbox.Post(func() {
		if f.assigns(f.image.Load(), id) && (f.assigns(f.broker.cluster.Newest(), id) || !bringBackOnlyCurrent) {
			f.bring(id)
		}
	})
}
