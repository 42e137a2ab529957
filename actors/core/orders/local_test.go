package orders

import (
	"reflect"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

// TestEveryCommandWithAFreshIncarnationGetsOne: a command that is forgotten would begin data under incarnation zero,
// which the next one forgotten shares.
func TestEveryCommandWithAFreshIncarnationGetsOne(t *testing.T) {
	drawn, asked := core.Incarnation{7}, core.Incarnation{9}
	local := Local{Fresh: func() core.Incarnation { return drawn }, Topic: func(mirror.SourceTopic) mirror.LocalTopic { return mirror.LocalTopic{Exists: true} }}
	for _, cmd := range []mirror.Command{mirror.RegisterAnswered{}, mirror.UnregisterAnswered{}, mirror.SupersedeAnswered{}, mirror.RecoverTopics{}, mirror.ReportReset{}} {
		if got := reflect.ValueOf(local.Fill(cmd)).FieldByName("Fresh").Interface(); got != drawn {
			t.Errorf("%T: fresh %v", cmd, got)
		}
	}
	if got := local.Fill(mirror.RecoverTopics{Fresh: asked}).(mirror.RecoverTopics).Fresh; got != asked {
		t.Errorf("what the sender drew became %v", got)
	}
	given := mirror.StartTopics{Topics: make([]mirror.StartTopic, 2)}
	filled := local.Fill(given).(mirror.StartTopics)
	for _, one := range filled.Topics {
		if one.Fresh != drawn || !one.Local.Exists {
			t.Errorf("topic %+v", one)
		}
	}
	if given.Topics[0].Fresh != (core.Incarnation{}) {
		t.Error("the command that was given has changed")
	}
	if got := (Local{Defaults: mirror.Defaults{LeaseMs: 5}}).Fill(mirror.CreateMirror{}).(mirror.CreateMirror).Defaults.LeaseMs; got != 5 {
		t.Errorf("default lease %d", got)
	}
}

func TestALocalTopicIsFoundByNameAndThenById(t *testing.T) {
	a, b := core.TopicID{1}, core.TopicID{2}
	img := image.ApplyAll(image.Empty(), []image.Fact{
		image.TopicChanged{Topic: image.Topic{ID: a, Name: "a", Partitions: make([]image.Partition, 3)}},
		image.MirrorTopicChanged{ID: a, Topic: image.MirrorTopic{Mirror: "dr", State: image.MirrorStopped}},
	})
	records := func(id core.PartitionID) int64 { return 10 + int64(id.Index) }
	want := mirror.LocalTopic{Exists: true, ID: a, Name: "a", Records: 33, Mirror: "dr", State: image.MirrorStopped}
	for _, source := range []mirror.SourceTopic{{ID: b, Name: "a"}, {ID: a, Name: "renamed"}} {
		if got := LocalTopic(img, source, records); got != want {
			t.Errorf("%+v: %+v", source, got)
		}
	}
	if got := LocalTopic(img, mirror.SourceTopic{ID: b, Name: "b"}, records); got != (mirror.LocalTopic{State: image.MirrorNone}) {
		t.Errorf("a topic that is not here: %+v", got)
	}
	if got := Returned(img, []image.Fact{image.MirrorTopicChanged{ID: a, Topic: image.MirrorTopic{State: image.MirrorStopped}}, image.MirrorTopicChanged{ID: b, Topic: image.MirrorTopic{State: image.MirrorStopped}}}); len(got) != 1 || got[0] != a {
		t.Errorf("returned %v", got)
	}
}

func TestATopicThatIsThereUnderItsIdIsMade(t *testing.T) {
	a, b := core.TopicID{1}, core.TopicID{2}
	for id, want := range map[core.TopicID]perr.Code{a: perr.None, b: perr.TopicAlreadyExists} {
		if got := TopicMade(a, controller.CreatedTopic{Code: perr.TopicAlreadyExists, Topic: image.Topic{ID: id}}); got.Code != want {
			t.Errorf("topic %v: code %v", id, got.Code)
		}
	}
}
