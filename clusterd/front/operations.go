package front

// What an asker may do, as the bits of Kafka's operations (KIP-430). Nobody judges askers here, and as in a Kafka without an
// authorizer everybody may do whatever there is to do with a resource.

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

	topicOperations   = mayRead | mayWrite | mayCreate | mayDelete | mayAlter | mayDescribe | mayDescribeConfigs | mayAlterConfigs
	groupOperations   = mayRead | mayDelete | mayDescribe | mayDescribeConfigs | mayAlterConfigs
	clusterOperations = mayCreate | mayAlter | mayDescribe | mayActForCluster | mayDescribeConfigs | mayAlterConfigs | mayWriteIdempotent

	// noOperations says that nobody asked.
	noOperations = -1 << 31
)

// operations are all of a resource for whoever asks for them.
func operations(all int32, asked bool) int32 {
	if asked {
		return all
	}
	return noOperations
}
