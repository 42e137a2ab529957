package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// DescribeCluster v0–2. v1 brings the endpoint type, v2 fenced brokers. The cluster id is never null:
// Connect refuses to start without one (compat-H12).

// Types of endpoints. This process has no separate controllers.
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

func (f *Front) describeCluster(r *kmsg.DescribeClusterRequest, from Client, slot *Slot) {
	img := f.broker.Image()
	resp := r.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.EndpointType = r.EndpointType
	resp.ClusterID = string(img.Cluster)
	resp.ControllerID = int32(img.Controller)
	resp.ClusterAuthorizedOperations = f.clusterOperations(from, r.IncludeClusterAuthorizedOperations)
	if r.Version >= 1 && r.EndpointType != brokerEndpoints {
		resp.ErrorCode = int16(perr.UnsupportedEndpointType)
		if r.EndpointType == controllerEndpoints {
			resp.ErrorCode = int16(perr.MismatchedEndpointType) // by which Java's Admin knows bootstrap.controllers to be wrong
		}
		resp.ErrorMessage = text("this cluster has broker endpoints only")
		slot.Reply(resp)
		return
	}
	for _, b := range allBrokers(img) {
		if !b.Live && !r.IncludeFencedBrokers {
			continue
		}
		n := kmsg.NewDescribeClusterResponseBroker()
		n.NodeID, n.IsFenced = int32(b.ID), !b.Live
		n.Host, n.Port = from.at.told(b)
		resp.Brokers = append(resp.Brokers, n)
	}
	slot.Reply(resp)
}
