package storm

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// recovered waits until the claim stands, was confirmed within the lease, and new records are acknowledged.
func (r *run) recovered(ctx context.Context) error {
	err := r.await(ctx, "SYNC", func(now messages.DescribeClusterMirrorsResponseTopic) bool {
		return now.EffectiveMirrorType == admin.Sync && now.Phase == "SYNC" && !now.Partial && !now.Unconfirmed && int(now.ArmedPartitions) == partitions
	})
	if err != nil {
		return err
	}
	return r.acknowledged(r.load.NextNew())
}

// opened waits until the destination takes the producer's writes.
func (r *run) opened(ctx context.Context, next <-chan struct{}) error {
	err := r.await(ctx, "STOPPED", func(now messages.DescribeClusterMirrorsResponseTopic) bool { return now.Phase == "STOPPED" })
	if err != nil {
		return err
	}
	return r.acknowledged(next)
}

func (r *run) acknowledged(next <-chan struct{}) error {
	select {
	case <-next:
		return nil
	case <-time.After(r.Stall):
		_, failure := r.load.Failed()
		r.dump()
		return fmt.Errorf("stall: no new record acknowledged within %s (client: %v)", r.Stall, failure)
	}
}

func (r *run) await(ctx context.Context, what string, wanted func(messages.DescribeClusterMirrorsResponseTopic) bool) error {
	deadline := time.Now().Add(r.Stall)
	for {
		now, err := r.sites.look(ctx)
		if err == nil && wanted(now) {
			return nil
		}
		if time.Now().After(deadline) {
			r.dump()
			return fmt.Errorf("stall: not %s within %s; last seen: %s", what, r.Stall, sight(now, err))
		}
		time.Sleep(30 * time.Millisecond)
	}
}

func sight(now messages.DescribeClusterMirrorsResponseTopic, err error) string {
	if err != nil {
		return err.Error()
	}
	text := ""
	if now.ErrorMessage != nil {
		text = *now.ErrorMessage
	}
	s := fmt.Sprintf("%s (%s), partial %v, unconfirmed %v, recovery %v, %q", now.State, now.Phase, now.Partial, now.Unconfirmed, now.RecoveryPending, text)
	for _, p := range now.Partitions {
		s += fmt.Sprintf("; %d: source %d here %d epoch %d", p.PartitionIndex, p.SourceOffset, p.DestinationOffset, p.SourceEpoch)
	}
	return s
}

// dump makes both processes write their goroutines into their logs, which ends them.
func (r *run) dump() {
	for _, s := range []*site{r.sites.source, r.sites.destination} {
		if s.Signal(syscall.SIGQUIT) == nil {
			fmt.Printf("log of %s: %s/clusterd.log\n", s.Cluster, s.Dir)
		}
	}
}
