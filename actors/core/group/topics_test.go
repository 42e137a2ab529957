package group

import (
	"maps"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
)

// A pattern must not tell of topics that whoever has it looked through may not describe; who names a topic has been judged.
func TestPatternsFindWhatMayBeDescribed(t *testing.T) {
	img := image.Empty()
	for i, name := range []string{"open-1", "open-2", "secret-1", "secret-2"} {
		img = image.Apply(img, image.TopicChanged{Topic: image.Topic{ID: core.TopicID{byte(i + 1)}, Name: name}})
	}
	reads := access.Binding{Pattern: access.Pattern{Type: access.Topic, Name: "open-", Kind: access.Prefixed}, Principal: "User:a", Host: access.Wildcard,
		Operation: access.Read, Permission: access.Allow}
	asker := access.Asker{Rules: access.Rules{}.With(reads), Settings: access.Settings{On: true}, Principal: "User:a", Host: "10.0.0.1"}
	s := subscriptionsOf([]*consumer{{said: ConsumerRecord{Regex: ".*"}}, {said: ConsumerRecord{Topics: []string{"secret-2"}}}})
	for _, c := range []struct {
		by   access.Asker
		want []string
	}{
		{access.Asker{}, []string{"open-1", "open-2", "secret-1", "secret-2"}},
		{asker, []string{"open-1", "open-2", "secret-2"}},
	} {
		if got := slices.Sorted(maps.Keys(s.lookUp(img, c.by, nil, true))); !slices.Equal(got, c.want) {
			t.Errorf("%q finds %v, want %v", c.by.Principal, got, c.want)
		}
	}
}
