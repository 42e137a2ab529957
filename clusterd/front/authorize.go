package front

import "lockstep/actors/core/access"

// may asks the authorizer, which judges by the broker's own image: an ACL counts on a broker once it has heard of it, as in
// a KRaft Kafka. It is called for every partition of a produce, so it allocates nothing.
func (f *Front) may(from Client, op access.Operation, t access.ResourceType, name string) bool {
	if !f.access.On {
		return true
	}
	return f.image().ACLs.Allowed(f.access, from.Principal, from.Host, op, t, name)
}

// mayCluster is may for the cluster itself.
func (f *Front) mayCluster(from Client, op access.Operation) bool {
	return f.may(from, op, access.Cluster, access.ClusterName)
}
