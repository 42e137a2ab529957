package admin

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ClusterID is the id by which a cluster is registered with others. Errors: nobody answered, or a cluster that states
// none, as Kafka before 0.10.1.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := req.RequestWith(ctx, c.Kafka)
	if err != nil {
		return "", c.unanswered(err)
	}
	if resp.ClusterID == nil {
		return "", errors.New("the cluster states no id")
	}
	return *resp.ClusterID, nil
}
