package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
)

// A source that cannot gate is refused before anything is mirrored, and the operator reads why.
func TestTheProbeRefusesASourceThatCannotGate(t *testing.T) {
	cases := map[string]struct {
		fetch   int16
		feature string
		want    string // in the refusal; "" for none
	}{
		"one that can":          {20, "mirror.sync.version", ""},
		"the feature left out":  {20, "", "mirror.sync.version disabled"},
		"only the base feature": {20, "mirror.version", "mirror.sync.version disabled"},
		"an older Kafka":        {17, "mirror.sync.version", "Fetch up to version 17"},
	}
	for name, c := range cases {
		res := kmsg.NewPtrApiVersionsResponse()
		res.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: messages.KeyFetch, MaxVersion: c.fetch}}
		if c.feature != "" {
			res.FinalizedFeatures = []kmsg.ApiVersionsResponseFinalizedFeature{{Name: c.feature, MinVersionLevel: 1, MaxVersionLevel: 1}}
		}
		err := compatible("src:9092", res)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
