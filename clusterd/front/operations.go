package front

import "lockstep/actors/core/access"

// What an asker may do, as the bits of Kafka's operations (KIP-430). Without an authorizer everybody may do whatever there is to
// do with a resource.

const (
	mayRead            = 1 << 3
	mayWrite           = 1 << 4
	mayCreate          = 1 << 5
	mayDelete          = 1 << 6
	mayAlter           = 1 << 7
	mayDescribe        = 1 << 8
	mayActForCluster   = 1 << 9
	mayDescribeConfigs = 1 << 10
	mayAlterConfigs    = 1 << 11
	mayWriteIdempotent = 1 << 12

	topicOperations  = mayRead | mayWrite | mayCreate | mayDelete | mayAlter | mayDescribe | mayDescribeConfigs | mayAlterConfigs
	groupOperations  = mayRead | mayDelete | mayDescribe | mayDescribeConfigs | mayAlterConfigs
	allOfCluster     = mayCreate | mayAlter | mayDescribe | mayActForCluster | mayDescribeConfigs | mayAlterConfigs | mayWriteIdempotent
	mirrorOperations = mayCreate | mayDelete | mayAlter | mayDescribe | mayDescribeConfigs | mayAlterConfigs

	// noOperations says that nobody asked.
	noOperations = -1 << 31
)

// operationsOf are all that there is to do with a resource of a type.
var operationsOf = map[access.ResourceType]int32{
	access.Topic:         topicOperations,
	access.Group:         groupOperations,
	access.Cluster:       allOfCluster,
	access.ClusterMirror: mirrorOperations,
}

// operations are those of a resource that are open to an asker who wants to know.
func (f *Front) operations(from Client, t access.ResourceType, name string, asked bool) int32 {
	if !asked {
		return noOperations
	}
	all := operationsOf[t]
	if !f.access.On {
		return all
	}
	for op := access.Read; op <= access.IdempotentWrite; op++ {
		if bit := int32(1) << op; all&bit != 0 && !f.may(from, op, t, name) {
			all &^= bit
		}
	}
	return all
}

// clusterOperations are those of the cluster. Who may not describe it may not do anything with it, as far as they are told.
func (f *Front) clusterOperations(from Client, asked bool) int32 {
	if asked && !f.mayCluster(from, access.Describe) {
		return 0
	}
	return f.operations(from, access.Cluster, access.ClusterName, asked)
}
