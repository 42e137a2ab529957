package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// mirrorRules are those of the mirroring KIPs' keys, and of a fetch that reports floors (rulings "Operations", F47).
var mirrorRules = []accessRule{
	{key: messages.KeyFetch, from: 20, below: 21, needs: "CLUSTER_ACTION CLUSTER, READ TOPIC:" + secretGated, denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := fetchRequest(1<<20, ask{topic: id})
		r.MirrorReplicaInfo.MirrorName = secretMirror
		t := messages.NewFetchRequestMirroredTopics()
		t.TopicId, t.Partitions = id, []messages.FetchRequestMirroredTopicPartition{messages.NewFetchRequestMirroredTopicPartition()}
		r.MirrorReplicaInfo.Topics = append(r.MirrorReplicaInfo.Topics, t)
		return r
	}},
	{key: messages.KeyAddTopicsToMirror, needs: "ALTER CLUSTER_MIRROR", denied: "-", code: perr.ClusterMirrorAuthorizationFailed, ask: func(_ core.TopicID, version int16) kmsg.Request {
		r := messages.NewPtrAddTopicsToMirrorRequest()
		t := messages.NewAddTopicsToMirrorRequestTopicState()
		t.TopicName = "far"
		if r.MirrorName = secretMirror; version == 0 {
			t.MirrorName = text(secretMirror)
		}
		r.Topics = append(r.Topics, t)
		return r
	}},
	{key: messages.KeyStopMirrorTopics, needs: "ALTER CLUSTER_MIRROR", denied: "-", code: perr.ClusterMirrorAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := messages.NewPtrStopMirrorTopicsRequest()
		r.MirrorName, r.Patterns = secretMirror, []string{".*"}
		return r
	}},
	{key: messages.KeyListClusterMirrors, needs: "DESCRIBE CLUSTER_MIRROR", ask: func(core.TopicID, int16) kmsg.Request {
		r := messages.NewPtrListClusterMirrorsRequest()
		r.IncludeTopicNames = true
		return r
	}},
	{key: messages.KeyDescribeClusterMirrors, needs: "DESCRIBE CLUSTER_MIRROR", denied: "Mirrors", code: perr.ClusterMirrorAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := messages.NewPtrDescribeClusterMirrorsRequest()
		r.MirrorNames, r.IncludeAuthorizedOperations = []string{secretMirror}, true
		return r
	}},
	{key: messages.KeyDescribeClusterMirrors, needs: "DESCRIBE CLUSTER_MIRROR", ask: func(core.TopicID, int16) kmsg.Request {
		return messages.NewPtrDescribeClusterMirrorsRequest()
	}},
	{key: messages.KeyCreateClusterMirror, needs: "CREATE CLUSTER_MIRROR:new", denied: "-", code: perr.ClusterMirrorAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := messages.NewPtrCreateClusterMirrorRequest()
		r.MirrorName = "new"
		for name, value := range farSource {
			c := messages.NewCreateClusterMirrorRequestConfig()
			c.Name, c.Value = name, &value
			r.Configs = append(r.Configs, c)
		}
		return r
	}},
	{key: messages.KeyRegisterMirrorSyncTopic, needs: "CLUSTER_ACTION CLUSTER", denied: "Topics", code: perr.ClusterAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := messages.NewPtrRegisterMirrorSyncTopicRequest()
		r.MirrorName, r.ClusterId = "new", "dc9"
		t := messages.NewRegisterMirrorSyncTopicRequestTopicState()
		t.TopicId, t.TopicName, t.Generation, t.MinIsr, t.DataIncarnation, t.Path = id, secretGated, 1, 1, [16]byte{9}, []string{"dc9"}
		r.Topics = append(r.Topics, t)
		return r
	}},
	{key: messages.KeyUnregisterMirrorSyncTopic, needs: "CLUSTER_ACTION CLUSTER", denied: "-, Topics", code: perr.ClusterAuthorizationFailed, ask: unregisterSecret(modeDemote)},
	{key: messages.KeyUnregisterMirrorSyncTopic, needs: "ALTER CLUSTER_MIRROR:m", denied: "-, Topics", code: perr.ClusterMirrorAuthorizationFailed, ask: unregisterSecret(modeRelease)},
	{key: messages.KeyAlterMirrorTopicType, needs: "ALTER CLUSTER_MIRROR", denied: "Topics", code: perr.ClusterMirrorAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := messages.NewPtrAlterMirrorTopicTypeRequest()
		t := messages.NewAlterMirrorTopicTypeRequestAlterMirrorTopic()
		t.TopicName = "far"
		r.MirrorName, r.Topics = secretMirror, append(r.Topics, t)
		return r
	}},
	{key: messages.KeyRecoverMirrorTopics, needs: "ALTER CLUSTER_MIRROR", denied: "-", code: perr.ClusterMirrorAuthorizationFailed, ask: func(core.TopicID, int16) kmsg.Request {
		r := messages.NewPtrRecoverMirrorTopicsRequest()
		t := messages.NewRecoverMirrorTopicsRequestTopicState()
		t.TopicName = "far"
		r.MirrorName, r.Topics = secretMirror, append(r.Topics, t)
		return r
	}},
	{key: messages.KeySupersedeMirrorTopics, needs: "CLUSTER_ACTION CLUSTER", denied: "-", code: perr.ClusterAuthorizationFailed, ask: func(id core.TopicID, _ int16) kmsg.Request {
		r := messages.NewPtrSupersedeMirrorTopicsRequest()
		t := messages.NewSupersedeMirrorTopicsRequestTopicState()
		t.TopicId, t.TopicName, t.Generation, t.Era = id, secretGated, 1, 1
		r.MirrorName, r.ClusterId, r.Mode, r.Topics = "m", "dc2", 4, append(r.Topics, t)
		return r
	}},
}

func unregisterSecret(mode int8) func(core.TopicID, int16) kmsg.Request {
	return func(id core.TopicID, _ int16) kmsg.Request {
		r := messages.NewPtrUnregisterMirrorSyncTopicRequest()
		t := messages.NewUnregisterMirrorSyncTopicRequestTopicState()
		t.TopicId, t.TopicName, t.Generation = id, secretGated, 99
		r.MirrorName, r.ClusterId, r.Mode, r.Topics = "m", "dc2", mode, append(r.Topics, t)
		return r
	}
}
