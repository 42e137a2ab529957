package front

import (
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/actors/core/image"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

// ListConfigResources v0–1: what DescribeConfigs may be asked about. v0 lists subscriptions to client metrics only, of
// which there are none; v1 lists any kinds, without one all of them. A group is listed while it has settings of its own.

// listedConfigs are the kinds that are known.
var listedConfigs = []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
	kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig, clusterMirror}

func (f *Front) listConfigResources(r *kmsg.ListConfigResourcesRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	if !f.mayCluster(from, access.DescribeConfigs) {
		resp.ErrorCode = int16(perr.ClusterAuthorizationFailed)
		slot.Reply(resp)
		return
	}
	kinds := map[kmsg.ConfigResourceType]bool{}
	for _, kind := range r.ResourceTypes {
		if !slices.Contains(listedConfigs, kmsg.ConfigResourceType(kind)) {
			resp.ErrorCode = int16(perr.UnsupportedVersion)
			slot.Reply(resp)
			return
		}
		kinds[kmsg.ConfigResourceType(kind)] = true
	}
	if len(kinds) == 0 && r.Version >= 1 {
		for _, kind := range listedConfigs {
			kinds[kind] = true
		}
	}
	add := func(kind kmsg.ConfigResourceType, names ...string) {
		for _, name := range names {
			out := kmsg.NewListConfigResourcesResponseConfigResource()
			out.Name, out.Type = name, int8(kind)
			resp.ConfigResources = append(resp.ConfigResources, out)
		}
	}
	img := f.broker.Image()
	if kinds[kmsg.ConfigResourceTypeTopic] {
		add(kmsg.ConfigResourceTypeTopic, img.TopicNames()...)
	}
	if kinds[kmsg.ConfigResourceTypeBroker] {
		add(kmsg.ConfigResourceTypeBroker, brokerNames(img)...)
	}
	groups := func() {
		if !kinds[kmsg.ConfigResourceTypeGroupConfig] {
			slot.Reply(resp)
			return
		}
		f.configuredGroups(func(names []string, code perr.Code) {
			add(kmsg.ConfigResourceTypeGroupConfig, names...)
			resp.ErrorCode = int16(code)
			slot.Reply(resp)
		})
	}
	if !kinds[clusterMirror] {
		groups()
		return
	}
	f.withMirrors(func(all []mirror.Description) {
		for _, m := range all {
			add(clusterMirror, string(m.Mirror))
		}
		groups()
	})
}

func brokerNames(img *image.Image) (names []string) {
	for id := range img.Brokers {
		names = append(names, strconv.Itoa(int(id)))
	}
	slices.Sort(names)
	return names
}

// configuredGroups asks every shard for the groups that have settings of their own, sorted.
func (f *Front) configuredGroups(answer func([]string, perr.Code)) {
	var mu sync.Mutex
	var names []string
	code := perr.None
	done := countdown(int(group.Shards), func() {
		slices.Sort(names)
		answer(names, code)
	})
	for shard := range int32(group.Shards) {
		f.cluster.GroupShard(shard, func(ref core.RequestID) group.Command { return group.ListConfigured{Ref: ref} }, func(reply any) {
			defer done()
			mu.Lock()
			defer mu.Unlock()
			if l, ok := reply.(group.ConfiguredListed); ok {
				names = append(names, l.Groups...)
			} else {
				code = perr.CoordinatorNotAvailable
			}
		})
	}
}
