package front

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/group"
	"lockstep/protocol/perr"
)

// ListGroups v0–5. v3 is flexible, v4 filters by state (compat-G08), v5 by type. Each broker lists the
// groups it coordinates; clients ask all of them.

func (f *Front) listGroups(r *kmsg.ListGroupsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.ListGroupsResponse)
	all := f.seesCluster(from, access.Describe)
	shards := f.cluster.GroupShards(f.broker.Image(), f.broker.ID())
	var mu sync.Mutex
	done := countdown(len(shards), func() { slot.Reply(resp) })
	for _, shard := range shards {
		f.cluster.GroupShard(shard, func(ref core.RequestID) group.Command {
			return group.ListGroups{Ref: ref, States: r.StatesFilter, Types: r.TypesFilter}
		}, func(reply any) {
			defer done()
			mu.Lock()
			defer mu.Unlock()
			listed, ok := reply.(group.Listed)
			if !ok {
				resp.ErrorCode = int16(perr.CoordinatorNotAvailable)
				return
			}
			for _, g := range listed.Groups {
				if !all && !f.sees(from, access.Describe, access.Group, g.Group) {
					continue
				}
				out := kmsg.NewListGroupsResponseGroup()
				out.Group, out.ProtocolType, out.GroupState, out.GroupType = g.Group, g.ProtocolType, g.State, g.Type
				resp.Groups = append(resp.Groups, out)
			}
		})
	}
}
