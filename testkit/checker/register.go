package checker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/client"
	"lockstep/protocol/perr"
)

const registerGroup = "register"

// registers is how many offsets of the group without members are read and written: few, so that clients meet.
const registers = 4

// set reads and writes them, one request at a time. No client library stands between: one that asks again behind our back
// would write twice, and only one of the two would be known.
func (r *run) set(ctx context.Context, id int) {
	rng := rand.New(rand.NewPCG(r.Seed, 2000+uint64(id)))
	var conn *client.Conn
	for n := int64(1); ctx.Err() == nil; n++ {
		if conn == nil {
			var err error
			if conn, err = r.coordinator(ctx); err != nil {
				conn = nil
			}
		}
		if conn != nil {
			op := RegisterOp{Client: id, Key: rng.IntN(registers), Write: rng.IntN(2) == 0, Value: n*10 + int64(id), Began: r.rec.now()}
			err := r.operate(conn, &op)
			op.Ended = r.rec.now()
			r.rec.add(func(h *History) { h.Register = append(h.Register, op) })
			if err != nil {
				conn.Close()
				conn = nil
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if conn != nil {
		conn.Close()
	}
}

// operate asks once. An error says that the connection is of no use, or leads to no coordinator.
func (r *run) operate(conn *client.Conn, op *RegisterOp) error {
	op.Outcome = Unknown
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	code := int16(0)
	if op.Write {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.SetVersion(7)
		req.Group, req.Generation = registerGroup, -1
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = int32(op.Key), op.Value
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: r.topics[0], Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
		resp, err := client.Do[*kmsg.OffsetCommitResponse](ctx, conn, req)
		if err != nil {
			return err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return errors.New("the answer to OffsetCommit is not of one partition")
		}
		code = resp.Topics[0].Partitions[0].ErrorCode
	} else {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.SetVersion(5)
		req.Group = registerGroup
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: r.topics[0], Partitions: []int32{int32(op.Key)}}}
		resp, err := client.Do[*kmsg.OffsetFetchResponse](ctx, conn, req)
		if err != nil {
			return err
		}
		if code = resp.ErrorCode; code == 0 {
			if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
				return errors.New("the answer to OffsetFetch is not of one partition")
			}
			code, op.Value = resp.Topics[0].Partitions[0].ErrorCode, resp.Topics[0].Partitions[0].Offset
		}
	}
	switch perr.Code(code) {
	case perr.None:
		op.Outcome = Done
		return nil
	case perr.NotCoordinator, perr.CoordinatorNotAvailable, perr.CoordinatorLoadInProgress:
		op.Outcome = Failed // nothing was written by whoever says so
	default:
		r.rec.add(func(h *History) {
			h.Faults = append(h.Faults, Fault{r.rec.now(), "register: " + perr.Code(code).Name()})
		})
	}
	return fmt.Errorf("refused with %s", perr.Code(code).Name())
}

// coordinator connects to the broker that keeps the register.
func (r *run) coordinator(ctx context.Context) (*client.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var failed error
	for _, seed := range r.seeds {
		address, err := whoCoordinates(ctx, seed)
		if err == nil {
			var conn *client.Conn
			if conn, err = client.Dial(ctx, address, client.Options{ClientID: registerGroup}); err == nil {
				return conn, nil
			}
		}
		failed = err
	}
	return nil, failed
}

func whoCoordinates(ctx context.Context, seed string) (string, error) {
	conn, err := client.Dial(ctx, seed, client.Options{ClientID: registerGroup})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.SetVersion(2)
	req.CoordinatorKey = registerGroup
	resp, err := client.Do[*kmsg.FindCoordinatorResponse](ctx, conn, req)
	if err != nil {
		return "", err
	}
	if code := perr.Code(resp.ErrorCode); code != perr.None {
		return "", fmt.Errorf("find the coordinator: %s", code.Name())
	}
	return net.JoinHostPort(resp.Host, strconv.Itoa(int(resp.Port))), nil
}

// measure reads the ends of all partitions again and again.
func (r *run) measure(ctx context.Context, id int) {
	cl := r.client()
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for ctx.Err() == nil {
		for _, stable := range []bool{false, true} {
			list := adm.ListEndOffsets
			if stable {
				list = adm.ListCommittedOffsets
			}
			ask, cancel := context.WithTimeout(ctx, 5*time.Second)
			began := r.rec.now()
			offsets, err := list(ask, r.topics...)
			ended := r.rec.now()
			cancel()
			if err != nil && len(offsets) == 0 {
				continue
			}
			r.rec.add(func(h *History) {
				offsets.Each(func(o kadm.ListedOffset) {
					if p, ours := r.number[spot{o.Topic, o.Partition}]; ours && o.Err == nil && o.Offset >= 0 {
						h.Ends = append(h.Ends, EndRead{p, id, stable, o.Offset, began, ended})
					}
				})
			})
		}
		select {
		case <-time.After(400 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
