package front

import (
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
)

// ListClusterMirrors v0: which mirrors this cluster is the destination of.

func (f *Front) listClusterMirrors(r *messages.ListClusterMirrorsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*messages.ListClusterMirrorsResponse)
	f.withMirrors(func(all []mirror.Description) {
		for _, d := range f.describable(from, all) {
			out := messages.NewListClusterMirrorsResponseMirror()
			out.MirrorName, out.SourceBootstrap, out.SourceClusterId = string(d.Mirror), d.Config[bootstrapServers], string(d.SourceCluster)
			for _, t := range d.Topics {
				if t.Phase == mirror.Stopping || t.Phase == mirror.Stopped {
					continue
				}
				out.TopicCount++
				if r.IncludeTopicNames {
					out.TopicNames = append(out.TopicNames, t.Name)
				}
			}
			resp.Mirrors = append(resp.Mirrors, out)
		}
		slot.Reply(resp)
	})
}
