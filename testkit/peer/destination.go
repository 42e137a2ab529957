package peer

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/client"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Destination mirrors partition 0 of one topic synchronously, into a leader and its followers in memory. Methods
// are safe for concurrent use.
type Destination struct {
	Bootstrap []string // brokers of the source; any that answers will do
	Mirror    string
	Topic     string

	mu       sync.Mutex
	replicas []Log // the first leads
	held     []bool
	minISR   int32
	isr      []int32
	distort  func(*messages.FetchRequest)
	wanted   int32 // epoch of the source's leader
	adopted  int32 // the one that the replicas were compared under; -1: none
	hw       int64 // of the newest answer
	refusal  perr.Code
	fetches  int
	trouble  error

	id     [16]byte
	leader string
	stop   context.CancelFunc
	ended  chan struct{}
}

// NewDestination has n replicas, all in sync, and needs minISR of them.
func NewDestination(bootstrap []string, mirror, topic string, n int, minISR int32) *Destination {
	d := &Destination{Bootstrap: bootstrap, Mirror: mirror, Topic: topic, minISR: minISR, wanted: -1, adopted: -1,
		replicas: make([]Log, n), held: make([]bool, n)}
	for i := range n {
		d.isr = append(d.isr, int32(i+1))
	}
	return d
}

// Hold keeps a follower (1 is the first behind the leader) from copying, as a slow one; it stays in the ISR.
func (d *Destination) Hold(follower int, hold bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[follower] = hold
}

// SetISR says which replicas the lists name as in sync.
func (d *Destination) SetISR(isr ...int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isr = slices.Clone(isr)
}

// Distort changes every fetch that leaves from now on; nil: none. f runs with the destination locked.
func (d *Destination) Distort(f func(*messages.FetchRequest)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.distort = f
}

// Seen is what the destination knows.
type Seen struct {
	HW      int64 // of the newest answer
	Ends    []int64
	Refusal perr.Code // of the newest fetch
	Fetches int       // answered
	Epoch   int32
	Trouble error // why the newest fetch failed otherwise
}

// Seen may be called at any time.
func (d *Destination) Seen() Seen {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Seen{HW: d.hw, Refusal: d.refusal, Fetches: d.fetches, Epoch: d.adopted, Trouble: d.trouble}
	for i := range d.replicas {
		s.Ends = append(s.Ends, d.replicas[i].End())
	}
	return s
}

// Holds lists the values that every in-sync replica has: what a failover to any of them would keep.
func (d *Destination) Holds() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := map[string]int{}
	for i := range d.replicas {
		if slices.Contains(d.isr, int32(i+1)) {
			for _, v := range d.replicas[i].Values(1 << 62) {
				counts[v]++
			}
		}
	}
	all := map[string]bool{}
	for v, n := range counts {
		all[v] = n >= len(d.isr)
	}
	return all
}

// Register asks the source to gate.
func (d *Destination) Register(ctx context.Context, recovery bool) (perr.Code, string, error) {
	if err := d.locate(ctx); err != nil {
		return 0, "", err
	}
	req := messages.NewPtrRegisterMirrorSyncTopicRequest()
	req.MirrorName = d.Mirror
	t := messages.NewRegisterMirrorSyncTopicRequestTopicState()
	t.TopicId, t.TopicName, t.RecoveryPromotion = d.id, d.Topic, recovery
	req.Topics = append(req.Topics, t)
	resp, err := once[*messages.RegisterMirrorSyncTopicResponse](ctx, d.Bootstrap, req)
	if err != nil {
		return 0, "", err
	}
	if len(resp.Topics) != 1 {
		return 0, "", fmt.Errorf("%d topics in the answer", len(resp.Topics))
	}
	return perr.Code(resp.Topics[0].ErrorCode), text(resp.Topics[0].ErrorMessage), nil
}

// Unregister ends the registration.
func (d *Destination) Unregister(ctx context.Context) (perr.Code, error) {
	req := messages.NewPtrUnregisterMirrorSyncTopicRequest()
	req.MirrorName = d.Mirror
	t := messages.NewUnregisterMirrorSyncTopicRequestTopicState()
	t.TopicId, t.TopicName = d.id, d.Topic
	req.Topics = append(req.Topics, t)
	resp, err := once[*messages.UnregisterMirrorSyncTopicResponse](ctx, d.Bootstrap, req)
	if err != nil {
		return 0, err
	}
	return perr.Code(resp.ErrorCode), nil
}

// locate finds the topic's id and the leader of its partition.
func (d *Destination) locate(ctx context.Context) error {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(12)
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &d.Topic}}
	resp, err := once[*kmsg.MetadataResponse](ctx, d.Bootstrap, req)
	if err != nil {
		return err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) == 0 {
		return fmt.Errorf("metadata of %s names no partition", d.Topic)
	}
	p := resp.Topics[0].Partitions[0]
	d.mu.Lock()
	defer d.mu.Unlock()
	d.id, d.leader = resp.Topics[0].TopicID, ""
	for _, b := range resp.Brokers {
		if b.NodeID == p.Leader {
			d.leader = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		}
	}
	if d.leader == "" {
		return fmt.Errorf("partition 0 of %s has no leader", d.Topic)
	}
	d.wanted = p.LeaderEpoch
	return nil
}

// once asks the first broker that answers.
func once[R kmsg.Response](ctx context.Context, brokers []string, req kmsg.Request) (resp R, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, addr := range brokers {
		var conn *client.Conn
		if conn, err = client.Dial(ctx, addr, client.Options{ClientID: "kip-peer"}); err != nil {
			continue
		}
		resp, err = client.Do[R](ctx, conn, req)
		conn.Close()
		if err == nil {
			break
		}
	}
	return resp, err
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
