package fetcher

import (
	"testing"
	"time"

	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// A refusal was to the registration of the request: a new one is tried at once.
func TestANewRegistrationIsTriedAtOnce(t *testing.T) {
	r := newRig(t, 1, nil)
	r.config["fetch.wait.max.ms"], r.config["request.timeout.ms"] = "20000", "30000"
	r.home.add(r.id(0), 1)
	r.peer.change(func() {
		r.peer.script = func(q peerFetch, p *messages.FetchResponsePartition) {
			if q.Sync && (len(q.Floors) != 1 || q.Floors[0].RegistrationEpoch != 10) {
				p.ErrorCode, p.Records = int16(perr.InvalidSyncRegistration), nil
			}
		}
	})
	r.peer.produce(0, 1, true)
	r.peer.produce(0, 1, false)
	r.mirror(1, mirror.FetchSync)
	r.peer.awaitFetch(func(q peerFetch) bool { return !q.Sync && q.Offset == 1 && q.MaxWait > time.Second })
	begin := time.Now()
	r.fetchers.Fetch(mirror.FetchTopic{Mirror: "dr", Config: r.config, Topic: r.peer.topic, Name: r.peer.name, Partitions: 1, Session: 1, Mode: mirror.FetchSync, Epoch: 10})
	r.upTo(0, 2)
	if d := time.Since(begin); d > 200*time.Millisecond {
		t.Errorf("took %v", d)
	}
}

// The refusal of a sync fetch that was under way when the topic became ASYNC: taken for the cursor's, it asked for
// a probe that never came, and every fetch from then on was sent without a wait, one after the other.
func TestARefusalAfterTheTopicBecameAsyncKeepsFetchesWaiting(t *testing.T) {
	r := newRig(t, 1, nil)
	r.config["fetch.wait.max.ms"], r.config["request.timeout.ms"] = "20000", "30000"
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 1, true)
	r.mirror(1, mirror.FetchSync)
	r.upTo(0, 1)
	r.peer.awaitFetch(func(q peerFetch) bool { return q.Sync && q.Offset == 1 && q.MaxWait > time.Second })
	r.mirror(1, mirror.FetchAsync)
	r.peer.change(func() { r.peer.logs[0].refuse = perr.InvalidSyncRegistration })
	r.peer.awaitFetch(func(q peerFetch) bool { return !q.Sync && q.Offset == 1 && q.MaxWait == asyncWait })
}
