package fetcher

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/pattern"
	"lockstep/protocol/perr"
)

// Source is what a source cluster says of itself.
type Source struct {
	Cluster core.ClusterID
	NATSURL string // "" if it has none, as a plain Kafka
	Topics  []mirror.SourceTopic
}

// Discover asks a source who it is and which topics it has: those that match says true to, with the
// settings a mirror copies. It dials and may take as long as ctx allows.
func Discover(ctx context.Context, c Config, match func(name string) bool) (Source, error) {
	var last error
	addrs := c.Addresses()
	for i, addr := range addrs {
		turn, cancel := share(ctx, len(addrs)-i)
		s, err := discoverAt(turn, c, addr, match)
		cancel()
		if err == nil {
			return s, nil
		}
		last = fmt.Errorf("%s: %w", addr, err)
		if ctx.Err() != nil {
			break
		}
	}
	return Source{}, fmt.Errorf("no broker of the source answers: %w", last)
}

func discoverAt(ctx context.Context, c Config, addr string, match func(string) bool) (Source, error) {
	conn, err := dial(ctx, c, addr)
	if err != nil {
		return Source{}, err
	}
	defer conn.close()
	md, err := describe(ctx, conn, nil)
	if err != nil {
		return Source{}, err
	}
	if err := c.checkCluster(md.cluster); err != nil {
		return Source{}, err
	}
	s := Source{Cluster: md.cluster, Topics: md.matching(match)}
	if s.NATSURL, err = natsURL(ctx, conn, md, addr); err != nil {
		return Source{}, err
	}
	denied, err := copySettings(ctx, conn, c, s.Topics)
	if err == nil && len(denied) > 0 {
		err = fmt.Errorf("the source does not show the settings of %.200q, which a mirror copies; %s", denied, neededRight(perr.TopicAuthorizationFailed))
	}
	return s, err
}

func (c Config) checkCluster(id core.ClusterID) error {
	if c.SourceCluster != "" && c.SourceCluster != string(id) && oneSourceClusterForAll {
		return fmt.Errorf("bootstrap.servers answer as cluster %q, but the mirror was made for %q: correct bootstrap.servers", id, c.SourceCluster)
	}
	return nil
}

// belongs asks who answers, before anything that counts is asked or told. Addresses are reused: another cluster
// there would take our Unregister for an unknown topic, which is an answer, while the source goes on gating.
func (c *conn) belongs(ctx context.Context, to Config) error {
	if to.SourceCluster == "" || !askWhoAnswers {
		return nil
	}
	md, err := describe(ctx, c, []core.TopicID{})
	if err != nil {
		return err
	}
	return to.checkCluster(md.cluster)
}

// metadata is one answer, read with care: every index and id is the source's word.
type metadata struct {
	cluster core.ClusterID
	brokers map[core.ReplicaID]string
	topics  []kmsg.MetadataResponseTopic
}

// describe reads metadata of the topics, of all when ids is nil. Topic ids need version 10, asking by id 12.
func describe(ctx context.Context, conn *conn, ids []core.TopicID) (metadata, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = min(12, conn.newest(req.Key()))
	if req.Version < 10 || ids != nil && req.Version < 12 {
		return metadata{}, fmt.Errorf("source speaks Metadata up to version %d, a mirror needs 12 for topic ids", req.Version)
	}
	if ids != nil {
		req.Topics = []kmsg.MetadataRequestTopic{}
	}
	for _, id := range ids {
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID = id
		req.Topics = append(req.Topics, t)
	}
	resp, err := do[*kmsg.MetadataResponse](ctx, conn, req)
	if err != nil {
		return metadata{}, err
	}
	md := metadata{brokers: map[core.ReplicaID]string{}, topics: resp.Topics}
	if resp.ClusterID != nil {
		md.cluster = core.ClusterID(*resp.ClusterID)
	}
	for _, b := range resp.Brokers {
		if b.Port > 0 && b.Port < 1<<16 && b.Host != "" {
			md.brokers[core.ReplicaID(b.NodeID)] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		}
	}
	if len(md.brokers) == 0 {
		return metadata{}, fmt.Errorf("source names no brokers")
	}
	return md, nil
}

func (md metadata) matching(match func(string) bool) []mirror.SourceTopic {
	var list []mirror.SourceTopic
	for _, t := range md.topics {
		if t.Topic == nil || t.ErrorCode != 0 || core.TopicID(t.TopicID).IsZero() || !match(*t.Topic) {
			continue
		}
		list = append(list, mirror.SourceTopic{ID: t.TopicID, Name: *t.Topic, Partitions: int32(len(t.Partitions))})
	}
	slices.SortFunc(list, func(a, b mirror.SourceTopic) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// natsURL reads the broker setting lockstep.nats.url; a source that does not know it has no NATS for us.
func natsURL(ctx context.Context, conn *conn, md metadata, addr string) (string, error) {
	node := core.NoReplica
	for id, a := range md.brokers {
		if a == addr || node == core.NoReplica {
			node = id
			if a == addr {
				break
			}
		}
	}
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(node))
	res.ConfigNames = []string{natsSetting}
	values, err := describeConfigs(ctx, conn, []kmsg.DescribeConfigsRequestResource{res})
	if err != nil {
		return "", err
	}
	for _, v := range values {
		for _, c := range v.Configs {
			if c.Name == natsSetting && c.Value != nil {
				return *c.Value, nil
			}
		}
	}
	return "", nil
}

const natsSetting = "lockstep.nats.url"

// copySettings fills in the overrides that a mirror copies (D22), and names the topics whose settings are not for its user
// to see.
func copySettings(ctx context.Context, conn *conn, c Config, topics []mirror.SourceTopic) (denied []string, err error) {
	var resources []kmsg.DescribeConfigsRequestResource
	for _, t := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, t.Name
		resources = append(resources, r)
	}
	if len(resources) == 0 {
		return nil, nil
	}
	values, err := describeConfigs(ctx, conn, resources)
	if err != nil {
		return nil, err
	}
	exclude := strings.Split(c.Exclude, ",")
	for i := range topics {
		for _, v := range values {
			if v.ResourceName != topics[i].Name || v.ErrorCode != 0 {
				if perr.Code(v.ErrorCode) == perr.TopicAuthorizationFailed && v.ResourceName == topics[i].Name {
					denied = append(denied, v.ResourceName)
				}
				continue
			}
			topics[i].Config = map[string]string{}
			for _, kv := range v.Configs {
				if kv.Source == kmsg.ConfigSourceDynamicTopicConfig && kv.Value != nil && !slices.Contains(exclude, kv.Name) {
					topics[i].Config[kv.Name] = *kv.Value
				}
			}
		}
	}
	return denied, nil
}

// neededRight says what the user of a mirror lacks at a source that answers code; "" if it is nothing of the kind.
func neededRight(code perr.Code) string {
	switch code {
	case perr.TopicAuthorizationFailed:
		return "the mirror's user needs READ and DESCRIBE_CONFIGS of the topic at the source"
	case perr.ClusterAuthorizationFailed:
		return "the mirror's user needs CLUSTER_ACTION of the cluster at the source, which gates acknowledgements for it"
	default:
		return ""
	}
}

func describeConfigs(ctx context.Context, conn *conn, resources []kmsg.DescribeConfigsRequestResource) ([]kmsg.DescribeConfigsResponseResource, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = min(4, conn.newest(req.Key()))
	if req.Version < 1 {
		return nil, nil // too old to tell own settings from defaults
	}
	req.Resources = resources
	resp, err := do[*kmsg.DescribeConfigsResponse](ctx, conn, req)
	if err != nil {
		return nil, err
	}
	return resp.Resources, nil
}

// readMetadata is one refresh: who leads what, where NATS is, what has appeared and what has gone.
func (m *mirrorRun) readMetadata(ctx context.Context, conn *conn) error {
	var ids []core.TopicID
	for id := range m.topics {
		ids = append(ids, id)
	}
	now := time.Now()
	looks := len(m.watch.Include) > 0 && now.Sub(m.watched) >= m.config.MetadataRefresh
	all, err := metadata{}, error(nil)
	if looks || len(ids) == 0 {
		all, err = describe(ctx, conn, nil)
	} else {
		all, err = describe(ctx, conn, ids)
	}
	if err != nil {
		return err
	}
	if err := m.config.checkCluster(all.cluster); err != nil {
		return err
	}
	m.brokers = all.brokers
	m.all.saw(m.config, all.brokers)
	m.readLeaders(all, now)
	url := m.config.NATSURL
	if url == "" {
		if url, err = natsURL(ctx, conn, all, conn.addr); err != nil {
			return err
		}
	}
	m.links().Source(m.name, all.cluster, url)
	if looks {
		m.watched = now
		if err := m.observe(ctx, conn, all); err != nil {
			return err
		}
	}
	return m.findGone(ctx, conn, all)
}

func (m *mirrorRun) readLeaders(md metadata, now time.Time) {
	for _, t := range md.topics {
		if mirrored, ok := m.topics[t.TopicID]; ok && t.ErrorCode == 0 && len(t.Partitions) > int(mirrored.Partitions) {
			m.home().Tell(m.name, mirror.ReportPartitions{Topic: t.TopicID, Count: int32(len(t.Partitions))})
		}
		for _, p := range t.Partitions {
			id := core.PartitionID{Topic: t.TopicID, Index: p.Partition}
			epoch, leader := core.LeaderEpoch(p.LeaderEpoch), core.ReplicaID(p.Leader)
			if _, mirrored := m.topics[id.Topic]; !mirrored || p.ErrorCode != 0 || leader < 0 || epoch < 0 {
				continue
			}
			known, ok := m.leaders[id]
			switch {
			case !ok || epoch > known.epoch:
				m.leaders[id] = leadership{broker: leader, epoch: epoch, since: now}
			case epoch == known.epoch:
				m.leaders[id] = leadership{broker: leader, epoch: epoch, since: known.since}
			case known.lower.IsZero():
				known.lower = now
				m.leaders[id] = known
			case now.Sub(known.lower) >= lowerAfter:
				m.leaders[id] = leadership{broker: leader, epoch: epoch, since: known.lower}
			}
		}
	}
}

// observe tells the mirror which topics of the source match its patterns and are not mirrored yet.
func (m *mirrorRun) observe(ctx context.Context, conn *conn, md metadata) error {
	include, exclude := patterns(m.watch.Include), patterns(m.watch.Exclude)
	found := md.matching(func(name string) bool { return anyMatches(include, name) && !anyMatches(exclude, name) })
	found = slices.DeleteFunc(found, func(t mirror.SourceTopic) bool { _, ok := m.topics[t.ID]; return ok })
	if len(found) == 0 {
		return nil
	}
	denied, err := copySettings(ctx, conn, m.config, found)
	if err != nil {
		return err
	}
	if len(denied) > 0 { // they are looked for again, and the others need not wait
		m.log.Warn("topics are not mirrored yet", "topics", denied, "reason", neededRight(perr.TopicAuthorizationFailed))
		found = slices.DeleteFunc(found, func(t mirror.SourceTopic) bool { return slices.Contains(denied, t.Name) })
	}
	cmd := mirror.ObserveSource{}
	for _, t := range found {
		cmd.Topics = append(cmd.Topics, mirror.StartTopic{Source: t, Local: m.home().Topic(t.ID, t.Name)})
	}
	m.home().Tell(m.name, cmd)
	return nil
}

// patterns compiles regular expressions that must match the whole name. One that does not compile was
// refused when it was set, and matches nothing here.
func patterns(list []string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range list {
		if re, err := pattern.Compile(p); err == nil {
			out = append(out, re)
		}
	}
	return out
}

func anyMatches(list []*regexp.Regexp, name string) bool {
	return slices.ContainsFunc(list, func(re *regexp.Regexp) bool { return re.MatchString(name) })
}
