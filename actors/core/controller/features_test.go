package controller

import (
	"reflect"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// updated sends one UpdateFeatures and returns its codes, and the levels that brokers were told, nil for none.
func updated(t *testing.T, s *State, dry bool, updates ...FeatureUpdate) (codes []perr.Code, told map[string]int16) {
	t.Helper()
	out := decide(s, core.Now{}, UpdateFeatures{Updates: updates, DryRun: dry})
	for _, f := range out.Late {
		switch f := f.(type) {
		case Publish:
			told = f.Facts[0].(image.FeaturesChanged).Levels
		case FeaturesAnswered:
			for _, r := range f.Results {
				if (r.Code == perr.None) != (r.Text == "") {
					t.Errorf("code %d says %q", r.Code, r.Text)
				}
				codes = append(codes, r.Code)
			}
		}
	}
	for _, ev := range out.Events {
		apply(s, ev)
	}
	return codes, told
}

func TestFeaturesAreFinalizedAllOrNone(t *testing.T) {
	s := newState()
	sync, base := "mirror.sync.version", "mirror.version"
	for _, c := range []struct {
		what    string
		updates []FeatureUpdate
		codes   []perr.Code
		told    map[string]int16
	}{
		{"down without saying so", []FeatureUpdate{{sync, 0, false}}, []perr.Code{perr.InvalidUpdateVersion}, nil},
		{"one of two is wrong", []FeatureUpdate{{sync, 0, true}, {base, 2, false}}, []perr.Code{0, perr.InvalidUpdateVersion}, nil},
		{"unknown", []FeatureUpdate{{"no.such.version", 1, false}}, []perr.Code{perr.InvalidUpdateVersion}, nil},
		{"below the only level", []FeatureUpdate{{image.MetadataVersion, 24, true}}, []perr.Code{perr.InvalidUpdateVersion}, nil},
		{"above the only level", []FeatureUpdate{{image.MetadataVersion, 26, false}}, []perr.Code{perr.InvalidUpdateVersion}, nil},
		{"twice", []FeatureUpdate{{sync, 0, true}, {sync, 1, false}}, []perr.Code{0, perr.InvalidRequest}, nil},
		{"off", []FeatureUpdate{{sync, 0, true}}, []perr.Code{0}, map[string]int16{sync: 0}},
		{"the base off, too", []FeatureUpdate{{base, 0, true}}, []perr.Code{0}, map[string]int16{sync: 0, base: 0}},
		{"on without the base", []FeatureUpdate{{sync, 1, false}}, []perr.Code{perr.InvalidUpdateVersion}, nil},
		{"both on", []FeatureUpdate{{sync, 1, false}, {base, 1, false}}, []perr.Code{0, 0}, map[string]int16{sync: 1, base: 1}},
	} {
		if codes, told := updated(t, s, true, c.updates...); !reflect.DeepEqual(codes, c.codes) || told != nil {
			t.Errorf("%s, dry run: %v, told %v", c.what, codes, told)
		}
		if codes, told := updated(t, s, false, c.updates...); !reflect.DeepEqual(codes, c.codes) || !reflect.DeepEqual(told, c.told) {
			t.Errorf("%s: %v, told %v", c.what, codes, told)
		}
		back, err := restore("", s.snapshot())
		if err != nil || !reflect.DeepEqual(back.features, s.features) {
			t.Fatalf("%s: a snapshot gives back %v of %v, %v", c.what, back.features, s.features, err)
		}
	}
}
