package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
)

// A follower that lacks much reads it no faster than the throttle of either side, and at once when that is taken away;
// what is in sync is not throttled.
func TestFollowersCatchUpWithinTheThrottle(t *testing.T) {
	for _, c := range []struct {
		name           string
		rate, replicas string
		of             func(leader core.ReplicaID) core.ReplicaID
	}{
		{"the leader's", leaderRate, leaderReplicas, func(leader core.ReplicaID) core.ReplicaID { return leader }},
		{"the follower's", followerRate, followerReplicas, func(leader core.ReplicaID) core.ReplicaID { return 3 - leader }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := memoryRig(t, 2)
			id := r.create("orders")
			leader := r.leader(id)
			other := 3 - leader.Broker()
			r.command(r.StopBroker, other)
			const each, many = 10_000, 60
			for i := range many {
				if i%20 == 19 { // a tail that is cached is read as well as a log
					r.mustAck(leader, fmt.Sprint(i, strings.Repeat("x", each)))
				} else {
					r.produce(leader, 1, fmt.Sprint(i, strings.Repeat("x", each)))
				}
			}
			const rate = 100_000
			r.alterBroker(controller.AlterBroker{Broker: c.of(leader.Broker()), Set: map[string]string{c.rate: fmt.Sprint(rate)}})
			r.alterTopic(controller.AlterTopic{ID: id.Topic, Set: map[string]string{c.replicas: fmt.Sprintf("7:1,0:%d", c.of(leader.Broker()))}})
			begun := time.Now()
			r.command(r.StartBroker, other)
			var back *Replica
			r.eventually("the follower reads", func() bool {
				var there bool
				back, there = r.replica(other, id)
				return there && back.View().LEO >= 20
			})
			// A second's worth at once, and a batch more than there is room for.
			read := func() float64 { return float64(back.View().LEO) * each }
			if took := time.Since(begun).Seconds(); read() > (took+1)*rate+2*each {
				t.Errorf("%.0f bytes in %.2f s under a throttle of %d", read(), took, rate)
			}
			if slices.Contains(r.isr(id), other) {
				t.Error("a throttled follower is in sync at once")
			}
			r.alterBroker(controller.AlterBroker{Broker: c.of(leader.Broker()), Delete: []string{c.rate}})
			r.eventually("the follower has everything", func() bool { return back.View().LEO == many })
			r.eventually("and is in sync", func() bool { return slices.Contains(r.isr(id), other) })
			r.alterBroker(controller.AlterBroker{Broker: c.of(leader.Broker()), Set: map[string]string{c.rate: "0"}})
			r.mustAck(leader, "in sync")
		})
	}
}

func TestAThrottleKeepsToItsRate(t *testing.T) {
	var b throttle
	at := func(ms int64) core.Now { return core.Now{Mono: 1 + ms*int64(time.Millisecond)} }
	if got := b.room(1000, at(0)); got != 1000 {
		t.Errorf("at first %d", got)
	}
	b.charge(3000)
	for ms, want := range map[int64]int64{1000: 0, 2000: 0, 2500: 500} {
		b := throttle{tokens: b.tokens, at: b.at}
		if got := b.room(1000, at(ms)); got != want {
			t.Errorf("after %d ms there is room for %d, want %d", ms, got, want)
		}
	}
	if got := b.room(1000, at(60_000)); got != 1000 {
		t.Errorf("after a minute %d", got)
	}
	if got := b.room(0, at(70_000)); got != 0 {
		t.Errorf("with rate 0 %d", got)
	}
}

func (r *rig) alterBroker(c controller.AlterBroker) {
	r.t.Helper()
	answer := make(chan any, 1)
	r.AlterBroker(c, func(a any) { answer <- a })
	if d, ok := (<-answer).(controller.Done); !ok || d.Code != 0 {
		r.t.Fatalf("%+v: %+v", c, d)
	}
}

func (r *rig) alterTopic(c controller.AlterTopic) {
	r.t.Helper()
	answer := make(chan any, 1)
	r.AlterTopic(c, func(a any) { answer <- a })
	if d, ok := (<-answer).(controller.Done); !ok || d.Code != 0 {
		r.t.Fatalf("%+v: %+v", c, d)
	}
}
