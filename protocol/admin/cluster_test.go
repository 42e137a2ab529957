package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
	dc "lockstep/testkit/datacenter"
)

// site is a whole clusterd in this process, and what a Go program may ask of it.
type site struct {
	*dc.Datacenter
	*testing.T
}

func started(t *testing.T, cluster string, topics ...string) site {
	t.Helper()
	d := dc.Inside(t, cluster, 1, nil)
	for _, name := range topics {
		d.CreateTopic(t, name, 1)
	}
	return site{d, t}
}

func (s site) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.T.Context(), dc.Patience)
	s.Cleanup(cancel)
	return ctx
}

// mirroring is a source with topics and a destination with a mirror of it.
func mirroring(t *testing.T, topics ...string) (source, destination site) {
	t.Helper()
	source, destination = started(t, "src", topics...), started(t, "dst")
	cluster, err := destination.Admin.CreateMirror(destination.ctx(), "dr", map[string]string{"bootstrap.servers": strings.Join(source.Bootstrap(), ","), "metadata.refresh.interval.ms": "500"})
	if err != nil || cluster != "src" {
		t.Fatalf("mirror of %q: %v", cluster, err)
	}
	return source, destination
}

// all fails unless every one of the topics has a result without error.
func all(t *testing.T, what string, results []admin.TopicResult, err error, topics ...string) {
	t.Helper()
	if err != nil || len(results) != len(topics) {
		t.Fatalf("%s: %+v, %v", what, results, err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s of %s: %v", what, r.Topic, r.Err)
		}
	}
}

// refused fails unless err is the code.
func refused(t *testing.T, what string, err error, code perr.Code) {
	t.Helper()
	var e *admin.Error
	if !errors.As(err, &e) || e.Code != code || e.Text == "" && e.Code.Message() == "" {
		t.Errorf("%s: %v, want %s", what, err, code.Name())
	}
}

func (s site) await(topic, what string, wanted func(dc.Described) bool) {
	s.Helper()
	s.AwaitTopic(s.T, "dr", topic, what, wanted)
}

func TestCreateMirrorAndList(t *testing.T) {
	t.Parallel()
	source, destination := mirroring(t)
	_, err := destination.Admin.CreateMirror(destination.ctx(), "dr", map[string]string{"bootstrap.servers": strings.Join(source.Bootstrap(), ",")})
	refused(t, "the same mirror again", err, perr.ClusterMirrorAlreadyExists)
	_, err = source.Admin.CreateMirror(source.ctx(), "self", map[string]string{"bootstrap.servers": strings.Join(source.Bootstrap(), ",")})
	refused(t, "a mirror of itself", err, perr.InvalidConfig)
	list, err := destination.Admin.List(destination.ctx())
	if err != nil || len(list) != 1 || list[0].MirrorName != "dr" || list[0].SourceClusterId != "src" {
		t.Errorf("listed %+v, %v", list, err)
	}
}

func TestAddTopicsStartTopicsAndDescribe(t *testing.T) {
	t.Parallel()
	_, destination := mirroring(t, "one", "two", "three")
	results, err := destination.Admin.AddTopics(destination.ctx(), "dr", map[string]int8{"one": admin.Async, "two": admin.Sync})
	all(t, "add", results, err, "one", "two")
	destination.await("one", "ASYNC", func(now dc.Described) bool { return now.Phase == "ASYNC" })
	destination.AwaitSync(t, "dr", "two")
	results, err = destination.Admin.StartTopics(destination.ctx(), "dr", []string{"th.*"}, nil, admin.Async)
	all(t, "start", results, err, "three")
	mirrors, err := destination.Admin.Describe(destination.ctx(), "dr")
	if err != nil || len(mirrors) != 1 || len(mirrors[0].Topics) != 3 || mirrors[0].Topics[0].TopicName != "one" {
		t.Errorf("described %+v, %v", mirrors, err)
	}
	_, err = destination.Admin.AddTopics(destination.ctx(), "other", map[string]int8{"one": admin.Async})
	refused(t, "an unknown mirror", err, perr.UnknownClusterMirror)
	if results, err := destination.Admin.AddTopics(destination.ctx(), "dr", map[string]int8{"nobody": admin.Async}); err == nil && (len(results) != 1 || results[0].Err == nil) {
		t.Errorf("a topic that the source does not have: %+v", results)
	}
	if _, err := destination.Admin.Describe(destination.ctx(), "nobody"); err == nil {
		t.Error("an unknown mirror was described")
	}
}

func TestAlterTypesAndAlterType(t *testing.T) {
	t.Parallel()
	_, destination := mirroring(t, "one", "two")
	results, err := destination.Admin.StartTopics(destination.ctx(), "dr", []string{"one", "two"}, nil, admin.Async)
	all(t, "start", results, err, "one", "two")
	results, err = destination.Admin.AlterTypes(destination.ctx(), "dr", map[string]int8{"one": admin.Sync, "two": admin.Async})
	all(t, "alter", results, err, "one", "two")
	if results[0].Topic != "one" || results[0].Warning == "" {
		t.Errorf("a promotion says nothing of lag zero: %+v", results)
	}
	destination.AwaitSync(t, "dr", "one")
	results, err = destination.Admin.AlterType(destination.ctx(), "dr", []string{"one"}, admin.Async)
	all(t, "alter", results, err, "one")
	destination.await("one", "ASYNC", func(now dc.Described) bool { return now.Phase == "ASYNC" && now.EffectiveMirrorType == admin.Async })
	results, err = destination.Admin.AlterTypes(destination.ctx(), "dr", map[string]int8{"nobody": admin.Sync})
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	refused(t, "a topic that is not mirrored", results[0].Err, perr.TopicNotInClusterMirror)
}

// Somebody registers who reports nothing: producers wait until the registration is withdrawn.
func TestRegisterAndUnregisterSyncTopics(t *testing.T) {
	t.Parallel()
	source := started(t, "src", "one")
	weak := dc.Send{Version: 14, Acks: -1, Timeout: time.Second, Value: "held"}
	results, err := source.Admin.RegisterSyncTopics(source.ctx(), "dr", []string{"one"}, admin.RegisterOptions{Cluster: "dst", Generation: 5, Incarnation: [16]byte{1}, MinISR: 1})
	all(t, "register", results, err, "one")
	if a := source.Produce(t, "one", 0, weak); a.Code != perr.MirrorSyncReplicationTimeout {
		t.Errorf("gated by nobody who reports, yet %+v", a)
	}
	results, _ = source.Admin.UnregisterSyncTopics(source.ctx(), "dr", []string{"one"}, admin.UnregisterOptions{Cluster: "dst", Generation: 4})
	refused(t, "an older command", results[0].Err, perr.InvalidSyncRegistration)
	results, err = source.Admin.UnregisterSyncTopics(source.ctx(), "dr", []string{"one"}, admin.UnregisterOptions{Cluster: "dst", Generation: 6})
	all(t, "unregister", results, err, "one")
	source.MustProduce(t, "one", 0, "free")

	results, err = source.Admin.RegisterSyncTopics(source.ctx(), "dr", []string{"one", "nobody"}, admin.RegisterOptions{Cluster: "dst", Generation: 7, Incarnation: [16]byte{1}})
	if err != nil || len(results) != 2 {
		t.Fatal(results, err)
	}
	for _, r := range results {
		if r.Topic == "one" && r.Err != nil || r.Topic == "nobody" && r.Err == nil {
			t.Errorf("%s: %v", r.Topic, r.Err)
		}
	}
	if _, err := source.Admin.Release(source.ctx(), "dr", nil, admin.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	results, _ = source.Admin.RegisterSyncTopics(source.ctx(), "dr", []string{"one"}, admin.RegisterOptions{Cluster: "dst", Generation: 8, Incarnation: [16]byte{1}})
	refused(t, "a released topic", results[0].Err, perr.MirrorSyncReleasedRequiresFreshPromotion)
	results, err = source.Admin.RegisterSyncTopics(source.ctx(), "dr", []string{"one"}, admin.RegisterOptions{Cluster: "dst", Generation: 9, Recovery: true, Echo: 1, Incarnation: [16]byte{1}})
	all(t, "recovery", results, err, "one")
}

func TestReleaseAndSources(t *testing.T) {
	t.Parallel()
	source, destination := mirroring(t, "one", "two")
	results, err := destination.Admin.StartTopics(destination.ctx(), "dr", []string{"one", "two"}, nil, admin.Sync)
	all(t, "start", results, err, "one", "two")
	destination.AwaitSync(t, "dr", "one")
	destination.AwaitSync(t, "dr", "two")
	dry, err := source.Admin.Release(source.ctx(), "dr", []string{"one"}, admin.ReleaseOptions{DryRun: true, AfterLease: true})
	if err != nil || dry.Number != 0 || dry.Wait < 10*time.Second || dry.Promised || len(dry.Topics) != 1 || dry.Cluster != "dst" {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	done, err := source.Admin.Release(source.ctx(), "dr", []string{"one"}, admin.ReleaseOptions{Hold: true})
	if err != nil || done.Number != 1 || done.Wait != 0 {
		t.Errorf("released: %+v, %v", done, err)
	}
	destination.await("one", "held", func(now dc.Described) bool { return now.RecoveryPending && now.Phase == "CATCHING_UP" })
	registered := func() map[string]messages.DescribeClusterMirrorsResponseRegistration {
		sources, err := source.Admin.Sources(source.ctx())
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]messages.DescribeClusterMirrorsResponseRegistration{}
		for _, s := range sources {
			rows[s.TopicName] = s.Registrations[0]
		}
		return rows
	}
	if rows := registered(); rows["one"].Registered || rows["one"].ReleaseNumber != 1 || !rows["two"].Registered {
		t.Errorf("sources: %+v", rows)
	}
	if _, err := source.Admin.Release(source.ctx(), "dr", []string{"one"}, admin.ReleaseOptions{Unhold: true}); err != nil {
		t.Error(err)
	}
	destination.AwaitSync(t, "dr", "one")
	_, err = destination.Admin.ReleaseSync(destination.ctx(), "dr", nil, false)
	refused(t, "on the wrong cluster", err, perr.UnknownClusterMirror)
	whole, err := source.Admin.Release(source.ctx(), "dr", nil, admin.ReleaseOptions{Forget: true})
	if err != nil || len(whole.Topics) != 2 {
		t.Errorf("forgotten: %+v, %v", whole, err)
	}
}

func TestStopSwitchAndFailTopics(t *testing.T) {
	t.Parallel()
	source, destination := mirroring(t, "stop", "switch", "fail")
	results, err := destination.Admin.StartTopics(destination.ctx(), "dr", []string{".*"}, nil, admin.Sync)
	all(t, "start", results, err, "stop", "switch", "fail")
	for _, verb := range []struct {
		topic string
		end   func(context.Context, string, []string) ([]admin.TopicResult, error)
	}{{"stop", destination.Admin.StopTopics}, {"switch", destination.Admin.SwitchTopics}, {"fail", destination.Admin.FailTopics}} {
		destination.AwaitSync(t, "dr", verb.topic)
		source.MustProduce(t, verb.topic, 0, "before")
		results, err := verb.end(destination.ctx(), "dr", []string{verb.topic})
		all(t, verb.topic, results, err, verb.topic)
		destination.AwaitStopped(t, "dr", verb.topic)
		destination.MustProduce(t, verb.topic, 0, "after")
	}
	standing := map[string]string{}
	dc.Eventually(t, "the source knows who took over", func() (string, bool) {
		sources, err := source.Admin.Sources(source.ctx())
		if err != nil {
			return err.Error(), false
		}
		for _, s := range sources {
			standing[s.TopicName] = s.Standing
		}
		return "", standing["stop"] == "PRIMARY" && standing["switch"] == "SUPERSEDED" && standing["fail"] == "SUPERSEDED"
	})
	forced, err := source.Admin.Release(source.ctx(), "dr", []string{"fail"}, admin.ReleaseOptions{})
	if err != nil || len(forced.Topics) != 1 {
		t.Fatal(forced, err)
	}
	refused(t, "a release after the takeover", forced.Topics[0].Err, perr.InvalidClusterMirrorState)
	forced, err = source.Admin.Release(source.ctx(), "dr", []string{"fail"}, admin.ReleaseOptions{Force: true})
	if err != nil || forced.Topics[0].Err != nil {
		t.Errorf("forced: %+v, %v", forced, err)
	}
}

func TestRecoverTopicsAndAcceptLoss(t *testing.T) {
	t.Parallel()
	source, destination := mirroring(t, "one")
	results, err := destination.Admin.StartTopics(destination.ctx(), "dr", []string{"one"}, nil, admin.Async)
	all(t, "start", results, err, "one")
	source.MustProduce(t, "one", 0, "copied")
	destination.await("one", "copied", func(now dc.Described) bool { return now.Phase == "ASYNC" && now.Partitions[0].DestinationOffset == 1 })
	results, err = destination.Admin.RecoverTopics(destination.ctx(), "dr", []string{"one"}, false)
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	refused(t, "a topic that needs no recovery", results[0].Err, perr.InvalidClusterMirrorState)
	if results, err := destination.Admin.AcceptLoss(destination.ctx(), "one"); err != nil || len(results) != 0 {
		t.Errorf("every partition is led, yet %+v, %v", results, err)
	}
	if _, err := kadm.NewClient(source.Admin.Kafka).DeleteTopics(source.ctx(), "one"); err != nil {
		t.Fatal(err)
	}
	destination.await("one", "ORPHANED", func(now dc.Described) bool { return now.Phase == "ORPHANED" })
	results, err = destination.Admin.RecoverTopics(destination.ctx(), "dr", []string{"one"}, false)
	all(t, "recover", results, err, "one")
}

func TestConfigureMirror(t *testing.T) {
	t.Parallel()
	_, destination := mirroring(t)
	if err := destination.Admin.ConfigureMirror(destination.ctx(), "dr", map[string]string{"mirror.replication.throttled.rate": "100000", "fetch.max.bytes": ""}); err != nil {
		t.Error(err)
	}
	refused(t, "a rate that is none", destination.Admin.ConfigureMirror(destination.ctx(), "dr", map[string]string{"mirror.replication.throttled.rate": "fast"}), perr.InvalidConfig)
	refused(t, "an unknown mirror", destination.Admin.ConfigureMirror(destination.ctx(), "nobody", map[string]string{"fetch.max.bytes": "1"}), perr.UnknownClusterMirror)
}
