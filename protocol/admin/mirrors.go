package admin

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
)

// Mirror types as they travel.
const (
	Async int8 = 0
	Sync  int8 = 1
)

// Modes of API 109.
const modeRelease int8 = 2

// CreateMirror defines a mirror on the destination and returns the source's cluster id.
func (c *Client) CreateMirror(ctx context.Context, mirror string, config map[string]string) (string, error) {
	req := &messages.CreateClusterMirrorRequest{MirrorName: mirror}
	for name, value := range config {
		req.Configs = append(req.Configs, messages.CreateClusterMirrorRequestConfig{Name: name, Value: &value})
	}
	sort.Slice(req.Configs, func(i, j int) bool { return req.Configs[i].Name < req.Configs[j].Name })
	res, err := ask[*messages.CreateClusterMirrorResponse](ctx, c, req)
	if err != nil {
		return "", err
	}
	return res.SourceClusterId, refusal(res.ErrorCode, res.ErrorMessage)
}

// StartTopics begins mirroring of the source's topics whose whole name matches one of include and none
// of exclude.
func (c *Client) StartTopics(ctx context.Context, mirror string, include, exclude []string, mirrorType int8) ([]TopicResult, error) {
	req := &messages.AddTopicsToMirrorRequest{Version: 1, MirrorName: mirror, IncludePatterns: include,
		ExcludePatterns: exclude, MirrorType: mirrorType, TimeoutMs: 30000}
	res, err := ask[*messages.AddTopicsToMirrorResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	var out []TopicResult
	for _, t := range res.Topics {
		out = append(out, TopicResult{t.TopicName, refusal(t.ErrorCode, t.ErrorMessage), text(t.Warning)})
	}
	return out, refusal(res.ErrorCode, res.ErrorMessage)
}

// The verbs that end mirroring (C8), as they travel.
const (
	Stop       int8 = 0
	Switchover int8 = 1
	Failover   int8 = 2
)

// StopTopics ends mirroring of topics of the destination, which become writable. The source need not be
// reachable, and goes on by itself.
func (c *Client) StopTopics(ctx context.Context, mirror string, topics []string) ([]TopicResult, error) {
	return c.end(ctx, mirror, topics, Stop)
}

// SwitchTopics begins a switchover: the source hands the writes of topics over and nothing is lost. It has begun when
// this returns; Describe shows how it ends, and why if the source keeps them.
func (c *Client) SwitchTopics(ctx context.Context, mirror string, topics []string) ([]TopicResult, error) {
	if err := c.knowsVerbs(ctx); err != nil {
		return nil, err
	}
	return c.end(ctx, mirror, topics, Switchover)
}

// FailTopics takes topics over from a source that is lost.
func (c *Client) FailTopics(ctx context.Context, mirror string, topics []string) ([]TopicResult, error) {
	if err := c.knowsVerbs(ctx); err != nil {
		return nil, err
	}
	return c.end(ctx, mirror, topics, Failover)
}

// knowsVerbs checks that the cluster would not step over the verb and stop: whoever serves API 112 knows it.
func (c *Client) knowsVerbs(ctx context.Context) error {
	res, err := ask[*kmsg.ApiVersionsResponse](ctx, c, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return err
	}
	for _, k := range res.ApiKeys {
		if k.ApiKey == messages.KeySupersedeMirrorTopics {
			return nil
		}
	}
	return fmt.Errorf("the cluster does not know switchover and failover (API %d): upgrade its clusterd, or use --stop", messages.KeySupersedeMirrorTopics)
}

func (c *Client) end(ctx context.Context, mirror string, topics []string, verb int8) ([]TopicResult, error) {
	req := &messages.StopMirrorTopicsRequest{MirrorName: mirror, StateValidationOffset: -1, Verb: verb}
	for _, name := range topics {
		req.Topics = append(req.Topics, messages.StopMirrorTopicsRequestTopicState{TopicName: name})
	}
	res, err := ask[*messages.StopMirrorTopicsResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	var out []TopicResult
	for _, t := range res.Topics {
		out = append(out, TopicResult{t.TopicName, refusal(t.ErrorCode, t.ErrorMessage), text(t.Warning)})
	}
	return out, refusal(res.ErrorCode, res.ErrorMessage)
}

// AlterType sets the desired mirror type of topics. A promotion waits for lag zero; the warning says so.
func (c *Client) AlterType(ctx context.Context, mirror string, topics []string, mirrorType int8) ([]TopicResult, error) {
	req := &messages.AlterMirrorTopicTypeRequest{MirrorName: mirror}
	for _, name := range topics {
		req.Topics = append(req.Topics, messages.AlterMirrorTopicTypeRequestAlterMirrorTopic{TopicName: name, MirrorType: mirrorType})
	}
	return c.alterTypes(ctx, req)
}

func (c *Client) alterTypes(ctx context.Context, req *messages.AlterMirrorTopicTypeRequest) ([]TopicResult, error) {
	res, err := ask[*messages.AlterMirrorTopicTypeResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	var out []TopicResult
	for _, t := range res.Topics {
		out = append(out, TopicResult{t.TopicName, refusal(t.ErrorCode, t.ErrorMessage), text(t.Warning)})
	}
	return out, nil
}

// RecoverTopics takes FAILED topics of the destination back to mirroring. With acceptSource, DIVERGED ones follow
// their source again: what they hold beyond its history is cut, into quarantine (ruling R11).
func (c *Client) RecoverTopics(ctx context.Context, mirror string, topics []string, acceptSource bool) ([]TopicResult, error) {
	req := &messages.RecoverMirrorTopicsRequest{MirrorName: mirror, AcceptSource: acceptSource}
	for _, name := range topics {
		req.Topics = append(req.Topics, messages.RecoverMirrorTopicsRequestTopicState{TopicName: name})
	}
	res, err := ask[*messages.RecoverMirrorTopicsResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	var out []TopicResult
	for _, t := range res.Topics {
		out = append(out, TopicResult{t.TopicName, refusal(t.ErrorCode, t.ErrorMessage), text(t.Warning)})
	}
	return out, refusal(res.ErrorCode, res.ErrorMessage)
}

// AcceptLoss lets the best LOSSY replica of each offline partition lead, all of a topic's when none is named.
// Destructive: acknowledged records may be missing from then on, and mirrors are told so (ruling R12). The
// results name partitions as topic/index.
func (c *Client) AcceptLoss(ctx context.Context, topic string, partitions ...int32) ([]TopicResult, error) {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType, req.TimeoutMillis = 1, 30000
	if len(partitions) == 0 {
		md := kmsg.NewPtrMetadataRequest()
		md.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
		res, err := ask[*kmsg.MetadataResponse](ctx, c, md)
		if err != nil {
			return nil, err
		}
		for _, t := range res.Topics {
			if err := refusal(t.ErrorCode, nil); err != nil {
				return nil, fmt.Errorf("topic %s: %w", topic, err)
			}
			for _, p := range t.Partitions {
				if p.Leader < 0 {
					partitions = append(partitions, p.Partition)
				}
			}
		}
		if len(partitions) == 0 {
			return nil, nil
		}
	}
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: partitions}}
	res, err := ask[*kmsg.ElectLeadersResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	var out []TopicResult
	for _, t := range res.Topics {
		for _, p := range t.Partitions {
			r := TopicResult{Topic: fmt.Sprintf("%s/%d", t.Topic, p.Partition), Err: refusal(p.ErrorCode, p.ErrorMessage)}
			if r.Err == nil {
				r.Warning = text(p.ErrorMessage)
			}
			out = append(out, r)
		}
	}
	return out, refusal(res.ErrorCode, nil)
}

// List names the mirrors of the destination.
func (c *Client) List(ctx context.Context) ([]messages.ListClusterMirrorsResponseMirror, error) {
	res, err := ask[*messages.ListClusterMirrorsResponse](ctx, c, &messages.ListClusterMirrorsRequest{IncludeTopicNames: true})
	if err != nil {
		return nil, err
	}
	return res.Mirrors, refusal(res.ErrorCode, res.ErrorMessage)
}

// Describe returns the named mirrors of the destination, all of them when none is named. Topics and
// partitions are in order.
func (c *Client) Describe(ctx context.Context, mirrors ...string) ([]messages.DescribeClusterMirrorsResponseMirror, error) {
	res, err := ask[*messages.DescribeClusterMirrorsResponse](ctx, c, &messages.DescribeClusterMirrorsRequest{MirrorNames: mirrors})
	if err != nil {
		return nil, err
	}
	for _, m := range res.Mirrors {
		sort.Slice(m.Topics, func(i, j int) bool { return m.Topics[i].TopicName < m.Topics[j].TopicName })
		for _, t := range m.Topics {
			sort.Slice(t.Partitions, func(i, j int) bool { return t.Partitions[i].PartitionIndex < t.Partitions[j].PartitionIndex })
		}
		if err := refusal(m.ErrorCode, m.ErrorMessage); err != nil {
			return res.Mirrors, err
		}
	}
	sort.Slice(res.Mirrors, func(i, j int) bool { return res.Mirrors[i].MirrorName < res.Mirrors[j].MirrorName })
	return res.Mirrors, refusal(res.ErrorCode, res.ErrorMessage)
}

// Sources lists the topics of a cluster that mirrors of others gate or have taken over.
func (c *Client) Sources(ctx context.Context) ([]messages.DescribeClusterMirrorsResponseSourceTopic, error) {
	res, err := ask[*messages.DescribeClusterMirrorsResponse](ctx, c, &messages.DescribeClusterMirrorsRequest{})
	if err != nil {
		return nil, err
	}
	return res.Sources, refusal(res.ErrorCode, res.ErrorMessage)
}

// Release is what a release did, or would do.
type Release struct {
	Number  int64  // 0 for a dry run
	Cluster string // the destination that was released
	// Wait is how long acks may still wait for the mirror: it ends sooner where the destination has heard. 0: not at all.
	// Promised: the source promised it to destinations (lockstep.release.after.lease), whatever the options said.
	Wait     time.Duration
	Promised bool
	Topics   []TopicResult
}

// ReleaseOptions say what a release does besides. The zero value is the draft's release: it un-gates at once, and
// sync resumes by itself when the destination is back.
type ReleaseOptions struct {
	DryRun bool // only say what would happen
	Hold   bool // refuse recoveries until Unhold (ruling C4)
	Unhold bool // release nothing; recoveries are admitted again
	Forget bool // of a whole mirror: its name is free for another cluster (F33)
	// Force also releases what the mirror has taken over: from then on two clusters take its writes (C8). And it does
	// not wait where the source promised to: a destination that cannot be reached may show RPO 0 while it is not (C4).
	Force bool
	// AfterLease withholds acks until the destination has heard of the release or its claim has ended by itself (C4).
	AfterLease bool
}

// ReleaseSync is Release without options but a dry run.
func (c *Client) ReleaseSync(ctx context.Context, mirror string, topics []string, dryRun bool) (Release, error) {
	return c.Release(ctx, mirror, topics, ReleaseOptions{DryRun: dryRun})
}

// Release drops, on the source, the registrations of a mirror: of the named topics, or of the whole
// mirror when none is named. Destructive: records acknowledged from here on are not on the destination
// until it has recovered.
func (c *Client) Release(ctx context.Context, mirror string, topics []string, o ReleaseOptions) (Release, error) {
	req := &messages.UnregisterMirrorSyncTopicRequest{MirrorName: mirror, Mode: modeRelease, DryRun: o.DryRun, Forget: o.Forget, Force: o.Force, AfterLease: o.AfterLease}
	switch {
	case o.Hold:
		req.Hold = 1
	case o.Unhold:
		req.Hold = 2
	}
	for _, name := range topics {
		req.Topics = append(req.Topics, messages.UnregisterMirrorSyncTopicRequestTopicState{TopicName: name})
	}
	res, err := ask[*messages.UnregisterMirrorSyncTopicResponse](ctx, c, req)
	if err != nil {
		return Release{}, err
	}
	out := Release{Number: res.ReleaseNumber, Cluster: res.ClusterId, Wait: time.Duration(res.WaitMs) * time.Millisecond, Promised: res.Promised}
	for _, t := range res.Topics {
		out.Topics = append(out.Topics, TopicResult{Topic: t.TopicName, Err: refusal(t.ErrorCode, t.ErrorMessage)})
	}
	return out, refusal(res.ErrorCode, res.ErrorMessage)
}
