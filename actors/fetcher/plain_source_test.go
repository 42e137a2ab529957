package fetcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// plainly mirrors from a source that states nothing, under a registration that it does not name.
func (r *rig) plainly() {
	r.peer.change(func() {
		for _, l := range r.peer.logs {
			l.plain = true
		}
	})
	r.fetchers.Fetch(mirror.FetchTopic{Mirror: "dr", Config: r.config, Topic: r.peer.topic, Name: r.peer.name,
		Partitions: int32(len(r.peer.logs)), Session: 1, Mode: mirror.FetchSync})
}

// R14: what the mirror needs to arm, and what the source is told.
func TestAPlainSourceIsToldAndReportedAsTheDraftSays(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	r.peer.change(func() { r.peer.logs[0].start, r.peer.logs[0].epoch = 4, 1 })
	r.peer.produce(0, 3, true)
	r.peer.change(func() { r.peer.logs[0].epoch = 3 })
	r.plainly()
	r.upTo(0, 7)
	r.home.change(func() {
		l.floor = &highwater.PublishFloor{Mirror: "dr", SourceEpoch: 3, Floor: 6, ISRSize: 2, MinISR: 2, DestEpoch: 20, Seq: 1,
			Replicas: []highwater.ReplicaLEO{{Replica: 1, LEO: 7}, {Replica: 2, LEO: 6}}, ISR: []core.ReplicaID{1, 2}}
	})
	r.peer.awaitFetch(func(q peerFetch) bool {
		return q.Sync && maps.Equal(q.Positions, map[int32]int64{1: 6, 2: 6}) && slices.Equal(q.ISR, []int32{1, 2}) && len(q.Floors) == 0
	})
	r.home.await(t, "progress with the floor and the epoch's start", func() bool {
		return toldOf(r.home, func(c mirror.ReportProgress) bool {
			return c.Sync && !c.Stated && c.Floor == 6 && c.EpochStart == 7 && c.SourceHW == 7 && c.SourceEpoch == 3
		})
	})
}

// R14: below version 20 the list was not sent, so an answer says nothing of a gate.
func TestASourceBelowFetch20IsReadAsync(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.change(func() { r.peer.newest = 19 })
	r.peer.produce(0, 3, true)
	r.plainly()
	r.upTo(0, 3)
	r.home.await(t, "progress", func() bool {
		return toldOf(r.home, func(c mirror.ReportProgress) bool { return c.LEO == 3 })
	})
	r.home.mu.Lock()
	defer r.home.mu.Unlock()
	if toldOf(r.home, func(c mirror.ReportProgress) bool { return c.Sync || c.Stated || c.EpochStart != core.Unknown }) {
		t.Error("an answer below version 20 counts as that of a sync fetch")
	}
}

func TestASourceOfOursIsRecognised(t *testing.T) {
	r := newRig(t, 1, nil)
	r.home.add(r.id(0), 1)
	r.peer.produce(0, 3, true)
	r.mirror(1, mirror.FetchAsync)
	r.home.await(t, "progress", func() bool {
		return toldOf(r.home, func(c mirror.ReportProgress) bool {
			return c.Stated && c.Floor == core.Unknown && c.EpochStart == core.Unknown
		})
	})
}

// F01: by the draft's formula an empty ISR, or a member without a position, would count as in sync.
func TestAListNeverSaysMoreThanTheFloor(t *testing.T) {
	floor := func(at core.Offset, leos ...core.Offset) highwater.PublishFloor {
		f := highwater.PublishFloor{Floor: at, MinISR: 2, ISR: []core.ReplicaID{1, 2, 3}}
		for i, leo := range leos {
			f.Replicas = append(f.Replicas, highwater.ReplicaLEO{Replica: core.ReplicaID(i + 1), LEO: leo})
		}
		return f
	}
	for what, c := range map[string]struct {
		floor highwater.PublishFloor
		want  []int64
	}{
		"a healthy floor":              {floor(8, 9, 8, 12), []int64{8, 8, 8}},
		"one that stands still":        {floor(5, 9, 8, 12), []int64{5, 5, 5}},
		"a member of an older term":    {floor(5, 9, 8), []int64{5, 5, 0}},
		"none in this source epoch":    {floor(core.Unknown, 9, 8, 12), []int64{0, 0, 0}},
		"a member behind an old floor": {floor(8, 9, 3, 12), []int64{8, 3, 8}},
	} {
		got := listed(4, c.floor)
		if got.Partition != 4 || got.MinISR != 2 || !slices.Equal(got.ISR, []int32{1, 2, 3}) || len(got.ReplicaLastOffsets) != len(c.want) {
			t.Errorf("%s: %+v", what, got)
			continue
		}
		for i, r := range got.ReplicaLastOffsets {
			if r.ReplicaId != int32(i+1) || r.LastFetchOffset != c.want[i] {
				t.Errorf("%s: replica %d at %d, want %d", what, r.ReplicaId, r.LastFetchOffset, c.want[i])
			}
		}
	}
}

func TestASourceThatKnowsNoRegistrationSaysSo(t *testing.T) {
	r := newRig(t, 1, nil)
	r.peer.change(func() { r.peer.knowsNoSync = true })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := r.fetchers.Call(ctx, r.config, messages.NewPtrRegisterMirrorSyncTopicRequest())
	var u interface{ Unsupported() bool }
	if !errors.As(err, &u) || !u.Unsupported() {
		t.Fatalf("answered %v", err)
	}
	// One broker that cannot be reached may know it: nothing is decided.
	r.config["bootstrap.servers"] += ",127.0.0.1:1"
	if _, err := r.fetchers.Call(ctx, r.config, messages.NewPtrRegisterMirrorSyncTopicRequest()); err == nil || errors.As(err, &u) && u.Unsupported() {
		t.Fatalf("with a broker that is down: %v", err)
	}
}
