package broker

import (
	"math"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
)

// A forged higher floor would be an ack without a copy. Whatever reaches ReportFloor, over NATS or in a Fetch,
// counts only if every field is that of the one registration that gates, in exactly this epoch.
func TestForgedFloorsMoveNothing(t *testing.T) { // attack-A04, A08, R3
	r := memoryRig(t, 3)
	id := r.create("orders")
	leader := r.leader(id)
	re := r.register(id, 1)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	waiting := r.send(leader, -1, "nobody has a copy")
	r.eventually("the record waits", func() bool { return leader.View().LEO == 1 && leader.Gates().HasWaiters })
	p, _ := r.Newest().Partition(id)
	genuine := highwater.ReportFloor{Key: dr, Epoch: re, SourceEpoch: p.LeaderEpoch, SourceIncarnation: r.Newest().Incarnation, Incarnation: core.Incarnation{1}, Floor: 1, ISRSize: 1, MinISR: 1, DestEpoch: 1, Seq: 1}
	for name, forge := range map[string]func(*highwater.ReportFloor){
		"another cluster":              func(f *highwater.ReportFloor) { f.Key.Cluster = "dc3" },
		"this cluster":                 func(f *highwater.ReportFloor) { f.Key.Cluster = "dc1" },
		"another mirror":               func(f *highwater.ReportFloor) { f.Key.Mirror = "dr2" },
		"nobody":                       func(f *highwater.ReportFloor) { f.Key = core.MirrorKey{} },
		"no registration":              func(f *highwater.ReportFloor) { f.Epoch = 0 },
		"an older registration":        func(f *highwater.ReportFloor) { f.Epoch-- },
		"a future registration":        func(f *highwater.ReportFloor) { f.Epoch++ },
		"the last registration":        func(f *highwater.ReportFloor) { f.Epoch = math.MaxInt64 },
		"a negative registration":      func(f *highwater.ReportFloor) { f.Epoch = -1 },
		"a future source epoch":        func(f *highwater.ReportFloor) { f.SourceEpoch++ },
		"the last source epoch":        func(f *highwater.ReportFloor) { f.SourceEpoch = math.MaxInt32 },
		"no source epoch":              func(f *highwater.ReportFloor) { f.SourceEpoch = core.NoEpoch },
		"another run of this cluster":  func(f *highwater.ReportFloor) { f.SourceIncarnation[5] ^= 1 },
		"no run of this cluster":       func(f *highwater.ReportFloor) { f.SourceIncarnation = core.Incarnation{} },
		"other data":                   func(f *highwater.ReportFloor) { f.Incarnation = core.Incarnation{2} },
		"no data":                      func(f *highwater.ReportFloor) { f.Incarnation = core.Incarnation{} },
		"more than there is":           func(f *highwater.ReportFloor) { f.Floor = 2 },
		"a huge floor":                 func(f *highwater.ReportFloor) { f.Floor = math.MaxInt64 },
		"no floor":                     func(f *highwater.ReportFloor) { f.Floor = core.Unknown },
		"a negative floor":             func(f *highwater.ReportFloor) { f.Floor = math.MinInt64 },
		"an empty ISR":                 func(f *highwater.ReportFloor) { f.ISRSize = 0 },
		"a negative ISR":               func(f *highwater.ReportFloor) { f.ISRSize = -3 },
		"no min ISR":                   func(f *highwater.ReportFloor) { f.MinISR = 0 },
		"a huge sequence and no floor": func(f *highwater.ReportFloor) { f.Seq, f.DestEpoch, f.Floor = math.MaxInt64, 1, core.Unknown },
	} {
		forged := genuine
		forge(&forged)
		r.ReportFloor(id, forged)
		r.asked(leader, genuine)
		if v := leader.View(); v.HW != 0 || v.Coming != 0 || len(waiting) != 0 {
			t.Fatalf("%s: HW moved to %d for %+v", name, v.Coming, forged)
		}
	}
	for _, nowhere := range []core.PartitionID{
		{Topic: id.Topic, Index: -1}, {Topic: id.Topic, Index: math.MinInt32}, {Topic: id.Topic, Index: 1}, {Topic: id.Topic, Index: math.MaxInt32},
		{Topic: core.TopicID{0xff}}, {},
	} {
		r.ReportFloor(nowhere, genuine)
		if e, ok := r.Evidence(nowhere); ok {
			t.Errorf("evidence of %v: %+v", nowhere, e)
		}
	}
	r.ReportFloor(id, genuine)
	if _, ok := (<-waiting).(partition.AckProduce); !ok {
		t.Fatal("the genuine floor does not count after the forged ones")
	}
}

// asked returns when HW actor and partition have decided everything they were told before: a report without a floor
// is behind it, and shows in the gates.
func (r *rig) asked(leader *Replica, empty highwater.ReportFloor) {
	r.t.Helper()
	before := leader.gates.Load()
	empty.Floor = core.Unknown
	r.ReportFloor(leader.ID(), empty)
	r.eventually("the HW actor has heard of it", func() bool { return leader.gates.Load() != before })
	answer := make(chan any, 1)
	leader.Ask(func(ref core.RequestID) partition.Command {
		return partition.ParkFetch{Ref: ref, Until: partition.PositionLEO, Beyond: leader.View().LEO - 1}
	}, func(a any) { answer <- a })
	<-answer
}

// Whoever names a registration of somebody else cannot end it, nor can an older command of its owner.
func TestForgedCommandsLeaveTheGateAlone(t *testing.T) { // attack-A04, A06, C3, C10
	r := memoryRig(t, 1)
	id := r.create("orders")
	r.register(id, 5)
	r.eventually("the leader gates", func() bool { return r.vouched(id) })
	send := func(build func(core.RequestID) registration.Command) any {
		answer := make(chan any, 1)
		r.Registration(build, func(a any) { answer <- a })
		return <-answer
	}
	for name, forged := range map[string]registration.UnregisterTopic{
		"another cluster":       {Key: core.MirrorKey{Cluster: "dc3", Mirror: dr.Mirror}, Topic: id.Topic, Name: "orders", Generation: 9},
		"another mirror":        {Key: core.MirrorKey{Cluster: dr.Cluster, Mirror: "dr2"}, Topic: id.Topic, Name: "orders", Generation: 9},
		"an older generation":   {Key: dr, Topic: id.Topic, Name: "orders", Generation: 4},
		"the same generation":   {Key: dr, Topic: id.Topic, Name: "orders", Generation: 5},
		"no generation":         {Key: dr, Topic: id.Topic, Name: "orders"},
		"a negative generation": {Key: dr, Topic: id.Topic, Name: "orders", Generation: -1},
		"another topic id":      {Key: dr, Topic: core.TopicID{0xff}, Name: "orders", Generation: 9},
		"another name":          {Key: dr, Topic: id.Topic, Name: "payments", Generation: 9},
	} {
		send(func(ref core.RequestID) registration.Command { forged.Ref = ref; return forged })
		r.settled()
		if !r.vouched(id) {
			t.Fatalf("%s un-gated the topic", name)
		}
	}
	for name, forged := range map[string]registration.RegisterTopic{
		"a second cluster under the name": {Key: core.MirrorKey{Cluster: "dc3", Mirror: dr.Mirror}, Generation: 9, Path: []core.ClusterID{"dc3"}},
		"this cluster":                    {Key: core.MirrorKey{Cluster: "dc1", Mirror: "self"}, Generation: 9, Path: []core.ClusterID{"dc1"}},
		"a cycle":                         {Key: core.MirrorKey{Cluster: "dc3", Mirror: "ring"}, Generation: 9, Path: []core.ClusterID{"dc3", "dc4", "dc1"}},
	} {
		forged.Topic, forged.Name, forged.MinISR, forged.Incarnation, forged.CanGate = id.Topic, "orders", 1, core.Incarnation{3}, true
		a, ok := send(func(ref core.RequestID) registration.Command { forged.Ref = ref; return forged }).(registration.RegisterAnswered)
		r.settled()
		if !ok || a.Code == 0 || a.Text == "" || len(r.leader(id).Gates().Gates) != 1 {
			t.Errorf("%s: %+v, gates %+v", name, a, r.leader(id).Gates().Gates)
		}
	}
}
