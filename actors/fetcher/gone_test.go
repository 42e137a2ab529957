package fetcher

import (
	"testing"
	"time"

	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func TestASourceTopicThatIsGoneIsReported(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 1, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 1)
	r.peer.change(func() {
		r.peer.gone = true
		r.peer.script = func(_ peerFetch, p *messages.FetchResponsePartition) {
			p.ErrorCode, p.Records = int16(perr.UnknownTopicId), nil
		}
	})
	r.home.await(t, "gone is reported", func() bool {
		return toldOf(r.home, func(c mirror.ReportSourceTopicGone) bool { return c.Topic == r.peer.topic })
	})
}

// TestOneBrokerThatLagsOrphansNothing: a broker that does not know the topic (yet, or still) was believed, and the copy
// was ORPHANED until somebody came. Half of the brokers say nothing for the whole either.
func TestOneBrokerThatLagsOrphansNothing(t *testing.T) {
	r := newRig(t, 1, nil)
	other, dead := startPeer(t, 1), startPeer(t, 1)
	dead.stop()
	r.home.add(r.id(0), 1)
	r.peer.change(func() { r.peer.others = []*peer{other, dead} })
	r.peer.produce(0, 1, true)
	r.mirror(1, mirror.FetchAsync)
	r.upTo(0, 1)
	r.peer.change(func() {
		r.peer.gone = true
		r.peer.script = func(_ peerFetch, p *messages.FetchResponsePartition) {
			p.ErrorCode, p.Records = int16(perr.UnknownTopicId), nil
		}
	})
	reported := func() bool {
		return toldOf(r.home, func(c mirror.ReportSourceTopicGone) bool { return c.Topic == r.peer.topic })
	}
	notYet := func(why string) {
		r.home.mu.Lock()
		defer r.home.mu.Unlock()
		if reported() {
			t.Fatal("gone, although", why)
		}
	}
	other.awaitAsked(2) // the second question comes after the first refresh has ended
	notYet("another broker has it")
	other.change(func() { other.gone = true })
	r.peer.change(func() { r.peer.others = []*peer{other, dead, dead} })
	r.peer.awaitAsked(3)
	notYet("only half of the brokers say so")
	r.peer.change(func() { r.peer.others = []*peer{other, dead} })
	r.home.await(t, "gone is reported once most of them say so", reported)
}

// awaitAsked waits until metadata of the topic has been asked for n more times.
func (p *peer) awaitAsked(n int) {
	p.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	timer := time.AfterFunc(10*time.Second, func() { p.change(func() {}) })
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for want := p.asked + n; p.asked < want; p.moved.Wait() {
		if !time.Now().Before(deadline) {
			p.t.Fatalf("asked for the topic %d times, want %d", p.asked, want)
		}
	}
}
