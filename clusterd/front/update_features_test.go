package front

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// One feature that cannot be updated fails the request as a whole, whatever its version, and changes nothing.
func TestOneWrongFeatureFailsTheUpdate(t *testing.T) {
	h := newHouse(t, 1)
	only := image.HighestFeature(image.MetadataVersion)
	for version := int16(0); version <= 2; version++ {
		for _, c := range []struct {
			levels map[string]int16
			code   perr.Code
			word   string
		}{
			{map[string]int16{"no.such.version": 1}, perr.InvalidUpdateVersion, "no.such.version"},
			{map[string]int16{"group.version": 1, "no.such.version": 1}, perr.InvalidUpdateVersion, "no.such.version"},
			{map[string]int16{"group.version": 0}, perr.InvalidUpdateVersion, "downgrade"},
			{map[string]int16{image.MetadataVersion: only}, perr.None, ""},
			{map[string]int16{image.MetadataVersion: only - 1}, perr.InvalidUpdateVersion, image.MetadataVersion},
			{map[string]int16{image.MetadataVersion: only + 1}, perr.InvalidUpdateVersion, image.MetadataVersion},
			{map[string]int16{"group.version": 1, image.MetadataVersion: only}, perr.None, ""},
		} {
			r := kmsg.NewPtrUpdateFeaturesRequest()
			for name, level := range c.levels {
				u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
				u.Feature, u.MaxVersionLevel, u.UpgradeType = name, level, upgradeOnly
				r.FeatureUpdates = append(r.FeatureUpdates, u)
			}
			resp := h.raw(1, r, version).(*kmsg.UpdateFeaturesResponse)
			why := ""
			if resp.ErrorMessage != nil {
				why = *resp.ErrorMessage
			}
			if perr.Code(resp.ErrorCode) != c.code || !strings.Contains(why, c.word) || (why == "") != (c.code == perr.None) {
				t.Errorf("v%d %v: %s %q", version, c.levels, perr.Code(resp.ErrorCode), why)
			}
			if named := len(resp.Results); named != 0 && (version == 2 || c.code != perr.None) || named != len(c.levels) && version < 2 && c.code == perr.None {
				t.Errorf("v%d %v: %d features are named", version, c.levels, named)
			}
		}
	}
}
