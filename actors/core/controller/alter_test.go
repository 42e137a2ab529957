package controller

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

func TestTopicSettingsChangeAllOrNone(t *testing.T) {
	w := cluster(t, nil)
	id := w.create(CreateTopic{Name: "orders", Fresh: core.TopicID{2}, Partitions: 2, Replication: 3, Config: map[string]string{"retention.ms": "5"}}, 0).Topic.ID
	alter := func(c AlterTopic) Done {
		t.Helper()
		c.ID = id
		return find[Done](t, w.do(c))
	}
	shown := func() string { return fmt.Sprint(w.img.Topics[id].Config, w.img.Topics[id].Partitions[1].MinISR) }
	before := shown()
	for _, bad := range []AlterTopic{
		{Set: map[string]string{"min.insync.replicas": "1", "no.such.setting": "1"}},
		{Set: map[string]string{"mirror.support.unclean.leader.election": "perhaps"}},
		{Set: map[string]string{"num.partitions": "3"}},
		{Set: map[string]string{"min.insync.replicas": "1"}, Delete: []string{"num.partitions"}},
	} {
		if d := alter(bad); d.Code != perr.InvalidConfig || !strings.Contains(d.Text, "orders") || shown() != before {
			t.Errorf("%+v: answered %+v, shown %s", bad, d, shown())
		}
	}
	if d := alter(AlterTopic{Set: map[string]string{"min.insync.replicas": "1"}, DryRun: true}); d.Code != 0 || shown() != before {
		t.Errorf("dry run: %+v, %s", d, shown())
	}
	if d := alter(AlterTopic{Set: map[string]string{"min.insync.replicas": "1", "mirror.support.unclean.leader.election": "true"}, Delete: []string{"retention.ms"}}); d.Code != 0 {
		t.Fatalf("answered %+v", d)
	}
	if got, want := shown(), "map[min.insync.replicas:1 mirror.support.unclean.leader.election:true] 1"; got != want {
		t.Errorf("brokers know %s, want %s", got, want)
	}
	w.replay()
	if d := alter(AlterTopic{Delete: []string{"min.insync.replicas"}}); d.Code != 0 || !strings.HasSuffix(shown(), " 2") {
		t.Errorf("back to the default: %+v, %s", d, shown())
	}
	if d := alter(AlterTopic{Whole: true, Set: map[string]string{"retention.ms": "7", "no.such.setting": "1"}}); d.Code != perr.InvalidConfig || !strings.Contains(shown(), "mirror.support") {
		t.Errorf("a whole set with an unknown name: %+v, %s", d, shown())
	}
	if d := alter(AlterTopic{Whole: true, Set: map[string]string{"retention.ms": "7"}}); d.Code != 0 || shown() != "map[retention.ms:7] 2" {
		t.Errorf("a whole set: %+v, %s", d, shown())
	}
	w.replay()
	if got := shown(); got != "map[retention.ms:7] 2" {
		t.Errorf("after a restart: %s", got)
	}
	if d := alter(AlterTopic{Whole: true}); d.Code != 0 || shown() != "map[] 2" {
		t.Errorf("an empty set: %+v, %s", d, shown())
	}
	if d := find[Done](t, w.do(AlterTopic{ID: core.TopicID{9}})); d.Code != perr.UnknownTopicOrPartition {
		t.Errorf("another topic: %+v", d)
	}
}
