package admin

import (
	"context"
	"fmt"
	"sort"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
)

// RegisterOptions say on whose behalf a registration is sent. The zero value is a peer that speaks only the KIP: it is
// known by the mirror's name, and what it says of its replicas is believed by its own lists alone (ruling R14).
type RegisterOptions struct {
	// Cluster is the destination; empty for a peer that speaks only the KIP.
	Cluster string
	// Generation numbers the commands of the destination for each topic, above every one used before; 0: not numbered.
	Generation int64
	// Recovery is the KIP's RecoveryPromotion: the topics return after a release. A destination that numbers its commands
	// names the release in Echo instead.
	Recovery bool
	Echo     int64
	// Incarnation is the destination's data; a floor of other data does not count (R2).
	Incarnation [16]byte
	MinISR      int32 // of the destination, pinned; 0: not stated
}

// RegisterSyncTopics is the draft's registerMirrorSyncTopics: it asks the source cluster to gate acks=all on a mirror, as a
// destination's coordinator does by itself. From success on, producers of the topics wait for reports of that mirror, and
// wait in vain while nobody sends any: UnregisterSyncTopics or Release ends that.
//
// The results are per topic: a topic the source does not have is UNKNOWN_TOPIC_OR_PARTITION, one that an operator has
// released is MIRROR_SYNC_RELEASED_REQUIRES_FRESH_PROMOTION. May be called from any goroutine.
func (c *Client) RegisterSyncTopics(ctx context.Context, mirror string, topics []string, o RegisterOptions) ([]TopicResult, error) {
	ids, out, err := c.topicIDs(ctx, topics)
	if err != nil || len(ids) == 0 {
		return out, err
	}
	req := messages.NewPtrRegisterMirrorSyncTopicRequest()
	req.MirrorName, req.ClusterId = mirror, o.Cluster
	for _, name := range sorted(ids) {
		t := messages.NewRegisterMirrorSyncTopicRequestTopicState()
		t.TopicId, t.TopicName, t.RecoveryPromotion = ids[name], name, o.Recovery
		t.Generation, t.EchoRelease, t.DataIncarnation = o.Generation, o.Echo, o.Incarnation
		if o.MinISR > 0 {
			t.MinIsr = o.MinISR
		}
		if o.Cluster != "" {
			t.Path = []string{o.Cluster}
		}
		req.Topics = append(req.Topics, t)
	}
	res, err := ask[*messages.RegisterMirrorSyncTopicResponse](ctx, c, req)
	if err != nil {
		return out, err
	}
	for _, t := range res.Topics {
		out = append(out, TopicResult{Topic: t.TopicName, Err: refusal(t.ErrorCode, t.ErrorMessage)})
	}
	return out, nil
}

// UnregisterOptions say on whose behalf a registration is withdrawn; they are those of the Register.
type UnregisterOptions struct {
	Cluster    string
	Generation int64 // above the Register's; 0 for a mirror that numbers nothing
}

// UnregisterSyncTopics is the draft's unregisterMirrorSyncTopics: it withdraws registrations at the wish of the destination,
// whose claim must be over before. What waited is acknowledged. An operator of the source uses Release, which the destination
// is told of and recovers from.
//
// The results are per topic: a command that a newer one has overtaken is INVALID_SYNC_REGISTRATION. May be called from any
// goroutine.
func (c *Client) UnregisterSyncTopics(ctx context.Context, mirror string, topics []string, o UnregisterOptions) ([]TopicResult, error) {
	ids, out, err := c.topicIDs(ctx, topics)
	if err != nil || len(ids) == 0 {
		return out, err
	}
	req := messages.NewPtrUnregisterMirrorSyncTopicRequest()
	req.MirrorName, req.ClusterId = mirror, o.Cluster
	for _, name := range sorted(ids) {
		t := messages.NewUnregisterMirrorSyncTopicRequestTopicState()
		t.TopicId, t.TopicName, t.Generation = ids[name], name, o.Generation
		req.Topics = append(req.Topics, t)
	}
	res, err := ask[*messages.UnregisterMirrorSyncTopicResponse](ctx, c, req)
	if err != nil {
		return out, err
	}
	for _, t := range res.Topics {
		out = append(out, TopicResult{Topic: t.TopicName, Err: refusal(t.ErrorCode, t.ErrorMessage)})
	}
	if len(res.Topics) == 0 { // a cluster that speaks only the KIP answers for all at once
		for _, name := range sorted(ids) {
			out = append(out, TopicResult{Topic: name, Err: refusal(res.ErrorCode, res.ErrorMessage)})
		}
	}
	return out, nil
}

// AlterTypes is the draft's alterMirrorTopicType with an entry per topic. Success means that the desired type is set: a
// promotion waits for lag zero, which the result's warning says. The source is not probed (see clusterctl); one that cannot
// gate shows up in Describe.
func (c *Client) AlterTypes(ctx context.Context, mirror string, types map[string]int8) ([]TopicResult, error) {
	req := &messages.AlterMirrorTopicTypeRequest{MirrorName: mirror}
	for _, name := range sorted(types) {
		req.Topics = append(req.Topics, messages.AlterMirrorTopicTypeRequestAlterMirrorTopic{TopicName: name, MirrorType: types[name]})
	}
	return c.alterTypes(ctx, req)
}

// AddTopics is the KIP's addTopicsToMirror with a type per topic (API 95). Each must exist at the source, by this name;
// topics that appear later are found by StartTopics' patterns only.
func (c *Client) AddTopics(ctx context.Context, mirror string, types map[string]int8) ([]TopicResult, error) {
	req := messages.NewPtrAddTopicsToMirrorRequest()
	req.SetVersion(1)
	req.MirrorName, req.TimeoutMs = mirror, 30000
	for _, name := range sorted(types) {
		t := messages.NewAddTopicsToMirrorRequestTopicState()
		t.TopicName, t.MirrorType = name, types[name]
		req.Topics = append(req.Topics, t)
	}
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

// mirrorResource is the KIP's type of a mirror among resources that have settings.
const mirrorResource = kmsg.ConfigResourceType(64)

// ConfigureMirror changes settings of a mirror of the destination: an empty value takes one back. All are changed or none;
// which cluster a mirror follows never changes. Errors name the setting and the value.
func (c *Client) ConfigureMirror(ctx context.Context, mirror string, settings map[string]string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = mirrorResource, mirror
	for _, name := range sorted(settings) {
		value := settings[name]
		op := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		op.Name, op.Op, op.Value = name, kmsg.IncrementalAlterConfigOpSet, &value
		if value == "" {
			op.Op, op.Value = kmsg.IncrementalAlterConfigOpDelete, nil
		}
		rr.Configs = append(rr.Configs, op)
	}
	req.Resources = append(req.Resources, rr)
	res, err := ask[*kmsg.IncrementalAlterConfigsResponse](ctx, c, req)
	if err != nil {
		return err
	}
	if len(res.Resources) != 1 {
		return fmt.Errorf("settings of mirror %s: %d answers to one question", mirror, len(res.Resources))
	}
	return refusal(res.Resources[0].ErrorCode, res.Resources[0].ErrorMessage)
}

// topicIDs asks for the ids of topics; one without an id comes back as its result.
func (c *Client) topicIDs(ctx context.Context, topics []string) (ids map[string][16]byte, missing []TopicResult, err error) {
	if len(topics) == 0 {
		return nil, nil, nil
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	res, err := ask[*kmsg.MetadataResponse](ctx, c, req)
	if err != nil {
		return nil, nil, err
	}
	ids = map[string][16]byte{}
	for _, t := range res.Topics {
		switch {
		case t.Topic == nil:
		case t.ErrorCode != 0:
			missing = append(missing, TopicResult{Topic: *t.Topic, Err: refusal(t.ErrorCode, nil)})
		default:
			ids[*t.Topic] = t.TopicID
		}
	}
	return ids, missing, nil
}

func sorted[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for name := range m {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}
