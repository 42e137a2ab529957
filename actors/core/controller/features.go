package controller

import (
	"fmt"
	"slices"

	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// Features this cluster knows. One that needs another is off while that is off.
var Features = []Feature{
	{Name: "group.version", Highest: image.HighestFeature("group.version")},
	{Name: image.MetadataVersion, Lowest: image.HighestFeature(image.MetadataVersion), Highest: image.HighestFeature(image.MetadataVersion)},
	{Name: "mirror.sync.version", Needs: "mirror.version", Highest: image.HighestFeature("mirror.sync.version"), Unstable: true},
	{Name: "mirror.version", Highest: image.HighestFeature("mirror.version"), Unstable: true},
	{Name: "transaction.version", Highest: image.HighestFeature("transaction.version")},
}

// Feature is one of them.
type Feature struct {
	Name     string
	Needs    string // "": nothing
	Lowest   int16
	Highest  int16
	Unstable bool // shown only with unstable.feature.versions.enable
}

func feature(name string) (Feature, bool) {
	i := slices.IndexFunc(Features, func(f Feature) bool { return f.Name == name })
	if i < 0 {
		return Feature{}, false
	}
	return Features[i], true
}

// level is what an operator finalized, else the highest: all features are on in a new cluster.
func level(features []FeatureRecord, name string) int16 {
	for _, f := range features {
		if f.Feature == name {
			return f.Level
		}
	}
	return image.HighestFeature(name)
}

// updateFeatures changes all features of a request or none, as Kafka does since UpdateFeatures 2. Turning one off
// leaves what stands: mirrors that gate go on until they are released, since un-gating silently would end zero RPO
// behind the operator's back.
func (s *State) updateFeatures(c UpdateFeatures) outcome {
	answer := FeaturesAnswered{Ref: c.Ref}
	next := slices.Clone(s.features)
	good := true
	for i, u := range c.Updates {
		r := FeatureResult{Feature: u.Feature}
		now := level(s.features, u.Feature)
		twice := slices.ContainsFunc(c.Updates[:i], func(o FeatureUpdate) bool { return o.Feature == u.Feature })
		known, some := feature(u.Feature)
		switch {
		case !some:
			r.Code, r.Text = perr.InvalidUpdateVersion, fmt.Sprintf("no feature %q here; features are group.version, metadata.version, mirror.sync.version, mirror.version and transaction.version", u.Feature)
		case twice:
			r.Code, r.Text = perr.InvalidRequest, fmt.Sprintf("feature %s is named twice", u.Feature)
		case u.Level < known.Lowest || u.Level > known.Highest:
			r.Code, r.Text = perr.InvalidUpdateVersion, fmt.Sprintf("feature %s has levels %d to %d, not %d", u.Feature, known.Lowest, known.Highest, u.Level)
		case u.Level < now && !u.Downgrade:
			r.Code, r.Text = perr.InvalidUpdateVersion, fmt.Sprintf("feature %s is at level %d: going down to %d must be asked for as a downgrade", u.Feature, now, u.Level)
		}
		good = good && r.Code == perr.None
		answer.Results = append(answer.Results, r)
		if known.Lowest == known.Highest {
			continue // nothing to remember
		}
		next = slices.DeleteFunc(next, func(f FeatureRecord) bool { return f.Feature == u.Feature })
		next = append(next, FeatureRecord{Feature: u.Feature, Level: u.Level})
	}
	for i, u := range c.Updates {
		for _, f := range Features {
			if r := &answer.Results[i]; good && f.Name == u.Feature && f.Needs != "" && u.Level > 0 && level(next, f.Needs) == 0 {
				r.Code, r.Text, good = perr.InvalidUpdateVersion, fmt.Sprintf("feature %s needs %s at level 1", f.Name, f.Needs), false
			}
		}
	}
	if !good || c.DryRun || slices.Equal(next, s.features) {
		return reply(outcome{}, answer)
	}
	slices.SortFunc(next, func(a, b FeatureRecord) int {
		if a.Feature < b.Feature {
			return -1
		}
		return 1
	})
	ev := FeaturesUpdated{Features: next}
	levels := map[string]int16{}
	for _, f := range next {
		levels[f.Feature] = f.Level
	}
	return reply(publish(outcome{Events: []Event{ev}}, image.FeaturesChanged{Levels: levels}), answer)
}
