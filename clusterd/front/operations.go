package front

import "lockstep/actors/core/access"

// noOperations says that nobody asked what they may do (KIP-430).
const noOperations = -1 << 31

// operations are those of a resource that are open to an asker who wants to know, as the bits of Kafka's numbers of them.
// Without an authorizer that is whatever there is to do with it.
func (f *Front) operations(from Client, t access.ResourceType, name string, asked bool) int32 {
	if !asked {
		return noOperations
	}
	bits := int32(0)
	for _, op := range t.Operations() {
		if f.sees(from, op, t, name) {
			bits |= 1 << op
		}
	}
	return bits
}

// clusterOperations are those of the cluster. Who may not describe it may not do anything with it, as far as they are told.
func (f *Front) clusterOperations(from Client, asked bool) int32 {
	if asked && !f.seesCluster(from, access.Describe) {
		return 0
	}
	return f.operations(from, access.Cluster, access.ClusterName, asked)
}
