package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// The table of admissions: feature off means 955, and peers see before they ask that the feature is off.
func TestAFeatureThatIsOffIsNotShownAndAdmitsNoMirror(t *testing.T) {
	for setting, shown := range map[string]string{"mirror.sync.version=1": "mirror.sync.version mirror.version", "mirror.sync.version=0": "mirror.version", "mirror.version=0": ""} {
		t.Run(setting, func(t *testing.T) {
			c := testConfig(t)
			name, value, _ := strings.Cut(setting, "=")
			c.Set[name] = value
			p := start(t, c)
			p.produce("orders", 0, 1)
			a, err := admin.New(strings.Split(p.ready["kafka"], ","))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			versions, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, a.Kafka)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range versions.FinalizedFeatures {
				names = append(names, f.Name)
			}
			if got := strings.Join(names, " "); got != shown {
				t.Errorf("finalized features %q, want %q", got, shown)
			}
			topics, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, a.Kafka)
			if err != nil {
				t.Fatal(err)
			}
			r := messages.NewPtrRegisterMirrorSyncTopicRequest()
			r.MirrorName, r.ClusterId = "dr", "dc2"
			one := messages.NewRegisterMirrorSyncTopicRequestTopicState()
			one.TopicId, one.TopicName, one.Generation, one.DataIncarnation, one.MinIsr, one.Path = topics.Topics[0].TopicID, "orders", 1, [16]byte{1}, 1, []string{"dc2"}
			r.Topics = append(r.Topics, one)
			resp, err := a.Kafka.Request(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			got := resp.(*messages.RegisterMirrorSyncTopicResponse).Topics[0]
			want := perr.MirrorSyncVersionMismatch
			if value == "1" {
				want = perr.None
			}
			if perr.Code(got.ErrorCode) != want {
				t.Errorf("%s: Register is answered with %s %v", setting, perr.Code(got.ErrorCode).Name(), got.ErrorMessage)
			}
		})
	}
}
