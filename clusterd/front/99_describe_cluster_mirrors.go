package front

import (
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// DescribeClusterMirrors v0. Any broker answers for all partitions: they share the mirror's actor. -1
// means unknown, never zero.

func (f *Front) describeClusterMirrors(r *messages.DescribeClusterMirrorsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*messages.DescribeClusterMirrorsResponse)
	f.withMirrors(func(all []mirror.Description) {
		all = f.describable(from, all)
		for _, name := range once(r.MirrorNames, itself) {
			if !f.may(from, access.Describe, access.ClusterMirror, name) {
				out := messages.NewDescribeClusterMirrorsResponseMirror()
				out.MirrorName, out.ErrorCode = name, int16(perr.ClusterMirrorAuthorizationFailed)
				out.ErrorMessage = text(denial(from, access.Describe, access.ClusterMirror, name))
				resp.Mirrors = append(resp.Mirrors, out)
				continue
			}
			if !slices.ContainsFunc(all, func(d mirror.Description) bool { return string(d.Mirror) == name }) {
				out := messages.NewDescribeClusterMirrorsResponseMirror()
				out.MirrorName, out.ErrorCode = name, int16(perr.UnknownClusterMirror)
				out.ErrorMessage = text(f.noMirror(core.MirrorName(name)))
				resp.Mirrors = append(resp.Mirrors, out)
			}
		}
		for _, d := range all {
			if len(r.MirrorNames) == 0 || slices.Contains(r.MirrorNames, string(d.Mirror)) {
				out := f.describeMirror(d)
				out.AuthorizedOperations = f.operations(from, access.ClusterMirror, out.MirrorName, r.IncludeAuthorizedOperations)
				resp.Mirrors = append(resp.Mirrors, out)
			}
		}
		if r.ClusterId != nil {
			resp.LookupResults = lookUpEpochs(all, core.ClusterID(*r.ClusterId), r.LastMirrorEpochLookups)
		}
		f.withLedger(func(ledger registration.Description) {
			resp.Sources = f.sourcesFor(from, f.describeSources(ledger))
			slot.Reply(resp)
		})
	})
}

func (f *Front) describeMirror(d mirror.Description) messages.DescribeClusterMirrorsResponseMirror {
	out := messages.NewDescribeClusterMirrorsResponseMirror()
	out.MirrorName, out.SourceClusterId, out.SourceBootstrap = string(d.Mirror), string(d.SourceCluster), d.Config[bootstrapServers]
	out.IncludePatterns, out.ExcludePatterns = d.Include, d.Exclude
	for _, t := range d.Topics {
		out.Topics = append(out.Topics, f.describeMirroredTopic(t))
	}
	return out
}

func (f *Front) describeMirroredTopic(t mirror.TopicDescription) messages.DescribeClusterMirrorsResponseTopic {
	out := messages.NewDescribeClusterMirrorsResponseTopic()
	out.TopicName, out.TopicId = t.Name, t.Topic
	out.DesiredMirrorType, out.EffectiveMirrorType, out.RecoveryPending = int8(t.Desired), int8(t.Effective), t.Recovery
	out.Phase, out.State, out.ArmedPartitions = t.Phase.String(), t.State, t.Armed
	out.ClaimTimeMs, out.ClaimTimeIndex = claim(t.T)
	out.Unconfirmed, out.Partial, out.Reporting, out.ZeroRpo = t.Unconfirmed, t.Partial, t.Reporting, t.ZeroRPO
	out.ContactTimeMs = known(t.ContactWall)
	out.RegistrationEpoch, out.Generation, out.ReleaseNumber = int64(t.Epoch), int64(t.Generation), int64(t.Release)
	out.Class = t.Class.String()
	out.RetryAttempt, out.ErrorMessage = t.RetryAttempt, text(t.ErrorMessage)
	out.Verb, out.Era, out.SwitchingOver, out.TellingSource, out.SourceObeys = t.Verb.String(), int64(t.Era), t.Moving, t.Telling, int8(t.Heard)
	for _, p := range t.Partitions {
		at := messages.NewDescribeClusterMirrorsResponsePartition()
		at.PartitionIndex, at.StateValue = p.Partition, p.State
		at.SourceOffset, at.DestinationOffset, at.Lag = int64(p.SourceOffset), int64(p.DestinationOffset), p.Lag
		at.RetryAttempt, at.ErrorMessage = int16(min(p.RetryAttempt, 1<<15-1)), text(p.ErrorMessage)
		at.Armed, at.ZeroRpoFrom = p.Armed, int64(p.ZeroRPOFrom)
		at.ClaimTimeMs, _ = claim(p.T)
		at.FailingSinceMs = known(p.FailingSinceWall)
		at.SourceEpoch, at.LastMirrorEpoch = int32(p.SourceEpoch), int32(p.LastMirroredEpoch)
		at.SourceEnd, at.GatedIn, at.Refused = int64(p.SourceEnd), int32(p.GatedIn), p.Refused
		if t.Phase != mirror.Stopped {
			f.addOwn(&at, core.PartitionID{Topic: t.Topic, Index: p.Partition})
		}
		out.Partitions = append(out.Partitions, at)
	}
	return out
}

// addOwn states what our own leader knows, source or no source: under which source epoch its log stands, where it
// ends, and the floor in that epoch. A floor of another epoch than the one beside it would be compared as if it
// were of that one (C15).
func (f *Front) addOwn(at *messages.DescribeClusterMirrorsResponsePartition, id core.PartitionID) {
	leader, ok := f.cluster.Leader(id)
	if !ok {
		return
	}
	view := leader.View()
	at.SourceEpoch = int32(view.Adopted)
	at.DestinationOffset = max(at.DestinationOffset, int64(view.LEO))
	if floor, published := leader.Floor(); published && floor.SourceEpoch == view.Adopted {
		at.Floor = int64(floor.Floor)
	}
}

// claim renders T; -1 says that there is none.
func claim(t mirror.ClaimTime) (clock, index int64) {
	if t == (mirror.ClaimTime{}) {
		return -1, -1
	}
	return t.Clock, t.Index
}

func known(wall int64) int64 {
	if wall == 0 {
		return -1
	}
	return wall
}

// lookUpEpochs answers a cluster that asks up to where we followed it: the key is the other cluster and
// the topic id, whatever the mirror is called.
func lookUpEpochs(all []mirror.Description, source core.ClusterID, asked []messages.DescribeClusterMirrorsRequestLookup) []messages.DescribeClusterMirrorsResponseLookupResult {
	var results []messages.DescribeClusterMirrorsResponseLookupResult
	for _, q := range asked {
		out := messages.NewDescribeClusterMirrorsResponseLookupResult()
		out.TopicId = q.TopicId
		for _, index := range q.Partitions {
			at := messages.NewDescribeClusterMirrorsResponseLookupPartition()
			at.PartitionIndex, at.LastMirrorEpoch = index, int32(lastMirrored(all, source, q.TopicId, index))
			out.Partitions = append(out.Partitions, at)
		}
		results = append(results, out)
	}
	return results
}

func lastMirrored(all []mirror.Description, source core.ClusterID, topic core.TopicID, index int32) core.LeaderEpoch {
	epoch := core.NoEpoch
	for _, d := range all {
		if d.SourceCluster != source {
			continue
		}
		for _, t := range d.Topics {
			if t.Topic != topic {
				continue
			}
			for _, p := range t.Partitions {
				if p.Partition == index {
					epoch = max(epoch, p.LastMirroredEpoch)
				}
			}
		}
	}
	return epoch
}
