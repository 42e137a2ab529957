package datacenter

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/client"
)

// PartitionView is one partition as a cluster's metadata shows it.
type PartitionView struct {
	Topic   [16]byte
	Address string
	Leader  int32
	Epoch   int32
	ISR     []int32
}

// Metadata is what the cluster shows of a topic, by partition; an error while any of them has no leader. Every
// broker is asked in turn, on a new connection: a client that was told of one broker only knows no other when that
// one stops.
func (d *Datacenter) Metadata(ctx context.Context, topic string) (map[int32]PartitionView, error) {
	var failed error
	for _, address := range d.Bootstrap() {
		res, err := metadata(ctx, address, topic)
		if err == nil {
			return d.views(topic, res)
		}
		failed = fmt.Errorf("metadata of %s on %s: %w", topic, d.Cluster, err)
	}
	return nil, failed
}

func metadata(ctx context.Context, address, topic string) (*kmsg.MetadataResponse, error) {
	conn, err := client.Dial(ctx, address, client.Options{ClientID: "raw"})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(12)
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	return client.Do[*kmsg.MetadataResponse](ctx, conn, req)
}

func (d *Datacenter) views(topic string, res *kmsg.MetadataResponse) (map[int32]PartitionView, error) {
	brokers := map[int32]string{}
	for _, b := range res.Brokers {
		brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	views := map[int32]PartitionView{}
	for _, rt := range res.Topics {
		for _, p := range rt.Partitions {
			if brokers[p.Leader] == "" {
				return nil, fmt.Errorf("%s/%d of %s has no leader (code %d)", topic, p.Partition, d.Cluster, p.ErrorCode)
			}
			views[p.Partition] = PartitionView{rt.TopicID, brokers[p.Leader], p.Leader, p.LeaderEpoch, p.ISR}
		}
	}
	if len(views) == 0 {
		return nil, fmt.Errorf("%s shows no partitions of %s", d.Cluster, topic)
	}
	return views, nil
}

// Partition waits until the partition has a leader.
func (d *Datacenter) Partition(t T, topic string, index int32) PartitionView {
	t.Helper()
	var view PartitionView
	Eventually(t, fmt.Sprintf("%s/%d of %s has a leader", topic, index, d.Cluster), func() (string, bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		views, err := d.Metadata(ctx, topic)
		if err != nil {
			return err.Error(), false
		}
		var ok bool
		view, ok = views[index]
		return fmt.Sprintf("%d partitions", len(views)), ok
	})
	return view
}
