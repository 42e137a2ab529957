package daemon

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/bus"
	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/pattern"
	"lockstep/actors/fetcher"
	"lockstep/clusterd/front"
	"lockstep/protocol/messages"
	"lockstep/protocol/properties"
)

type (
	request  = kmsg.Request
	response = kmsg.Response
)

// wiring is the cluster as bus and fetchers see it.
type wiring struct{ cluster *broker.Cluster }

func (w *wiring) ID() core.ClusterID { return w.cluster.ID() }
func (w *wiring) Now() core.Now      { return w.cluster.Now() }

func (w *wiring) Tell(name core.MirrorName, cmd mirror.Command) {
	w.cluster.Mirror(name, func(core.RequestID) mirror.Command { return cmd }, nil)
}

func (w *wiring) ReportFloor(id core.PartitionID, report highwater.ReportFloor) {
	w.cluster.ReportFloor(id, report)
}

// Handle answers registration commands of the bus by the very functions of the Kafka port.
func (w *wiring) Handle(req kmsg.Request, reply func(kmsg.Response)) {
	switch r := req.(type) {
	case *messages.RegisterMirrorSyncTopicRequest:
		front.Register(w.cluster, r, func(resp *messages.RegisterMirrorSyncTopicResponse) { reply(resp) })
	case *messages.UnregisterMirrorSyncTopicRequest:
		front.Unregister(w.cluster, r, func(resp *messages.UnregisterMirrorSyncTopicResponse) { reply(resp) })
	case *messages.SupersedeMirrorTopicsRequest:
		front.Supersede(w.cluster, r, func(resp *messages.SupersedeMirrorTopicsResponse) { reply(resp) })
	default:
		panic(fmt.Sprintf("daemon: the bus handed over %T", req))
	}
}

func (w *wiring) Evidence(id core.PartitionID) []bus.Evidence {
	e, ok := w.cluster.Evidence(id)
	if !ok {
		return nil
	}
	list := make([]bus.Evidence, 0, len(e.Gates))
	for _, g := range e.Gates {
		list = append(list, bus.Evidence{Key: g.Key, Body: messages.PartitionEvidence{
			SourceEpoch: int32(e.Epoch), HighWatermark: int64(e.HW), LastUncleanEpoch: int32(e.LastUnclean), HasWaiters: e.HasWaiters,
			Gating: true, RegistrationEpoch: int64(g.Epoch), GateStart: int64(g.GateStart), FloorAccepted: int64(g.Floor),
			Era: int64(e.Era), TimeMs: e.T.Clock, TimeIndex: e.T.Index,
			LeaseMs: e.LeaseMs, Promised: e.Promised, Partitions: e.Partitions, Unsynced: e.Unsynced, Incarnation: e.Incarnation,
		}})
	}
	return list
}

// Register names this cluster and everything that gates the topic behind it (C11). Other topics may go the other way:
// acknowledgements of one never wait for those of another.
func (w *wiring) Register(topic core.TopicID) (path []core.ClusterID, prefix int32) {
	path = []core.ClusterID{w.cluster.ID()}
	for _, g := range w.cluster.Newest().Sync[topic].Gates {
		if !slices.Contains(path, g.Key.Cluster) {
			path = append(path, g.Key.Cluster)
		}
	}
	return path, w.cluster.ProducerPrefix()
}

func (w *wiring) Partition(id core.PartitionID) (image.Partition, bool) {
	return w.cluster.Newest().Partition(id)
}

func (w *wiring) View(id core.PartitionID) (partition.View, bool) {
	if leader, ok := w.cluster.Leader(id); ok {
		return leader.View(), true
	}
	return partition.View{}, false
}

func (w *wiring) Tail(id core.PartitionID, at core.Offset) (int64, error) {
	if leader, ok := w.cluster.Leader(id); ok {
		return leader.Tail(at)
	}
	return broker.NoTail, nil
}

func (w *wiring) Floor(id core.PartitionID) (highwater.PublishFloor, bool) {
	if leader, ok := w.cluster.Leader(id); ok {
		return leader.Floor()
	}
	return highwater.PublishFloor{}, false
}

func (w *wiring) Ask(id core.PartitionID, build func(core.RequestID) partition.Command, reply func(any)) bool {
	leader, ok := w.cluster.Leader(id)
	if ok {
		leader.Ask(build, reply)
	}
	return ok
}

func (w *wiring) RaiseEpoch(id core.PartitionID, min core.LeaderEpoch, reply func(ok bool)) {
	w.cluster.RaiseEpoch(controller.RaiseEpoch{ID: id, Min: min}, func(answer any) {
		raised, ok := answer.(controller.EpochRaised)
		reply(ok && raised.Code == 0)
	})
}

func (w *wiring) FollowsUnclean(id core.TopicID) (value, set bool) {
	t, known := w.cluster.Newest().Topic(id)
	if !known {
		return false, false
	}
	word, set := t.Config[mirror.FollowUncleanSetting]
	return word == "true", set
}

func (w *wiring) Compacts(id core.TopicID) bool {
	t, known := w.cluster.Newest().Topic(id)
	return known && strings.Contains(t.Config["cleanup.policy"], "compact")
}

func (w *wiring) Topic(id core.TopicID, name string) mirror.LocalTopic {
	return w.cluster.LocalTopic(mirror.SourceTopic{ID: id, Name: name})
}

// sources asks source clusters for the front.
type sources struct{ secrets *properties.Places }

func (s sources) Identify(ctx context.Context, config map[string]string) (core.ClusterID, error) {
	found, err := s.discover(ctx, config, func(string) bool { return false })
	return found.Cluster, err
}

func (s sources) Check(config map[string]string) string {
	if err := fetcher.CheckConfig(config, s.secrets); err != nil {
		return err.Error()
	}
	return ""
}

func (s sources) Topics(ctx context.Context, config map[string]string, names, include, exclude []string) ([]mirror.SourceTopic, error) {
	wanted, err := patterns(include)
	if err != nil {
		return nil, err
	}
	unwanted, err := patterns(exclude)
	if err != nil {
		return nil, err
	}
	found, err := s.discover(ctx, config, func(name string) bool {
		return (slices.Contains(names, name) || wanted(name)) && !unwanted(name)
	})
	return found.Topics, err
}

func (s sources) discover(ctx context.Context, config map[string]string, match func(string) bool) (fetcher.Source, error) {
	c, err := fetcher.ParseConfig(config, s.secrets)
	if err != nil {
		return fetcher.Source{}, err
	}
	return fetcher.Discover(ctx, c, match)
}

// patterns matches a name as a whole against any of list.
func patterns(list []string) (func(string) bool, error) {
	var compiled []*regexp.Regexp
	for _, p := range list {
		re, err := pattern.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", p, err)
		}
		compiled = append(compiled, re)
	}
	return func(name string) bool {
		return slices.ContainsFunc(compiled, func(re *regexp.Regexp) bool { return re.MatchString(name) })
	}, nil
}
