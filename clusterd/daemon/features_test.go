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
			if got := p.finalized(); got != shown {
				t.Errorf("finalized features %q, want %q", got, shown)
			}
			want := perr.MirrorSyncVersionMismatch
			if value == "1" {
				want = perr.None
			}
			if got := p.register(1); got != want {
				t.Errorf("%s: Register is answered with %s", setting, got.Name())
			}
		})
	}
}

// ask sends one request to the process.
func (p *process) ask(req kmsg.Request) kmsg.Response {
	p.t.Helper()
	a, err := admin.New(strings.Split(p.ready["kafka"], ","))
	if err != nil {
		p.t.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp, err := a.Kafka.Request(ctx, req)
	if err != nil {
		p.t.Fatalf("%T: %v", req, err)
	}
	return resp
}

// finalized names the features of mirroring that are on.
func (p *process) finalized() string {
	p.t.Helper()
	var names []string
	for _, f := range p.ask(kmsg.NewPtrApiVersionsRequest()).(*kmsg.ApiVersionsResponse).FinalizedFeatures {
		if strings.HasPrefix(f.Name, "mirror.") {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, " ")
}

// register asks to gate topic orders for a mirror.
func (p *process) register(generation int64) perr.Code {
	p.t.Helper()
	topics := p.ask(kmsg.NewPtrMetadataRequest()).(*kmsg.MetadataResponse)
	r := messages.NewPtrRegisterMirrorSyncTopicRequest()
	r.MirrorName, r.ClusterId = "dr", "dc2"
	one := messages.NewRegisterMirrorSyncTopicRequestTopicState()
	one.TopicId, one.TopicName, one.Generation, one.DataIncarnation, one.MinIsr, one.Path = topics.Topics[0].TopicID, "orders", generation, [16]byte{1}, 1, []string{"dc2"}
	r.Topics = append(r.Topics, one)
	return perr.Code(p.ask(r).(*messages.RegisterMirrorSyncTopicResponse).Topics[0].ErrorCode)
}

func (p *process) update(level int16, kind int8) perr.Code {
	p.t.Helper()
	r := kmsg.NewPtrUpdateFeaturesRequest()
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = "mirror.sync.version", level, kind
	r.FeatureUpdates = append(r.FeatureUpdates, u)
	return perr.Code(p.ask(r).(*kmsg.UpdateFeaturesResponse).ErrorCode)
}

// An operator's word on a feature counts at once on every broker and outlives the process; a setting at 0 is above it.
func TestFeaturesCanBeTurnedOffAndOn(t *testing.T) {
	c := testConfig(t)
	p := start(t, c)
	p.produce("orders", 0, 1)
	if code := p.update(0, upgrade); code != perr.InvalidUpdateVersion {
		t.Errorf("an upgrade to 0 is answered with %s", code.Name())
	}
	if code := p.update(0, downgrade); code != perr.None {
		t.Fatalf("a downgrade is answered with %s", code.Name())
	}
	for range 2 {
		if got := p.finalized(); got != "mirror.version" {
			t.Errorf("finalized %q", got)
		}
		if code := p.register(1); code != perr.MirrorSyncVersionMismatch {
			t.Errorf("with the feature off, Register is answered with %s", code.Name())
		}
		p.close()
		p = start(t, c)
	}
	if code := p.update(1, upgrade); code != perr.None {
		t.Fatalf("an upgrade is answered with %s", code.Name())
	}
	if code := p.register(2); code != perr.None {
		t.Errorf("with the feature on again, Register is answered with %s", code.Name())
	}
	p.close()
	c.Set["mirror.sync.version"] = "0"
	p = start(t, c)
	if code := p.update(1, upgrade); code != perr.FeatureUpdateFailed {
		t.Errorf("started with the feature at 0, an upgrade is answered with %s", code.Name())
	}
}

const (
	upgrade   int8 = 1
	downgrade int8 = 2
)

// Without the early access switch a cluster looks like a Kafka without mirroring.
func TestWithoutUnstableVersionsNothingOfMirroringIsOffered(t *testing.T) {
	c := testConfig(t)
	c.Set["unstable.api.versions.enable"], c.Set["unstable.feature.versions.enable"] = "false", "false"
	p := start(t, c)
	p.produce("orders", 0, 1)
	versions := p.ask(kmsg.NewPtrApiVersionsRequest()).(*kmsg.ApiVersionsResponse)
	for _, k := range versions.ApiKeys {
		if most, limited := map[int16]int16{0: 13, 1: 18, 19: 7}[k.ApiKey]; k.ApiKey >= 95 || limited && k.MaxVersion != most {
			t.Errorf("key %d is offered up to version %d", k.ApiKey, k.MaxVersion)
		}
	}
	if s, f := versions.SupportedFeatures, versions.FinalizedFeatures; len(s) != 3 || len(f) != 3 || s[0].Name != "group.version" || s[1].Name != "metadata.version" || s[2].Name != "transaction.version" || f[0].MaxVersionLevel != 1 || f[2].MaxVersionLevel != 2 {
		t.Errorf("features %v, %v", s, f)
	}
}
