package front

import (
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/pattern"
	"lockstep/actors/core/transaction"
	"lockstep/protocol/perr"
)

// ListTransactions v0–2. v1 filters by how long a transaction is open, v2 by a pattern of ids. Each broker lists those it
// coordinates; clients ask all of them.

func (f *Front) listTransactions(r *kmsg.ListTransactionsRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.ListTransactionsResponse)
	cmd := transaction.ListTransactions{Producers: r.ProducerIDFilters, LongerMs: -1}
	if r.Version >= 1 {
		cmd.LongerMs = r.DurationFilterMillis
	}
	for _, state := range once(r.StateFilters, strings.ToLower) {
		if transaction.IsPhase(state) {
			cmd.States = append(cmd.States, state)
		} else {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, state)
		}
	}
	matches := func(string) bool { return true }
	if r.Version >= 2 && r.TransactionalIDPattern != nil && *r.TransactionalIDPattern != "" {
		re, err := pattern.Compile(*r.TransactionalIDPattern)
		if err != nil {
			resp.ErrorCode = int16(perr.InvalidRegularExpression)
			slot.Reply(resp)
			return
		}
		matches = re.MatchString
	}
	if len(r.StateFilters) > 0 && len(cmd.States) == 0 {
		slot.Reply(resp)
		return
	}
	shards := f.cluster.TransactionShards(f.broker.Image(), f.broker.ID())
	var mu sync.Mutex
	var all []transaction.ListedTransaction
	// Matched on the connection's goroutine: a shard has others to serve.
	done := countdown(len(shards), func() {
		slot.Turn(func() (kmsg.Response, bool) {
			for _, t := range all {
				if matches(t.ID) && f.sees(from, access.Describe, access.TransactionalID, t.ID) {
					resp.TransactionStates = append(resp.TransactionStates, kmsg.ListTransactionsResponseTransactionState{
						TransactionalID: t.ID, ProducerID: t.ProducerID, TransactionState: t.Phase.String()})
				}
			}
			all = nil
			return resp, true
		})
	})
	for _, shard := range shards {
		f.cluster.TransactionShard(shard, func(ref core.RequestID) transaction.Command {
			c := cmd
			c.Ref = ref
			return c
		}, func(reply any) {
			defer done()
			mu.Lock()
			defer mu.Unlock()
			listed, ok := reply.(transaction.Listed)
			if !ok {
				resp.ErrorCode = int16(perr.CoordinatorNotAvailable)
				return
			}
			all = append(all, listed.Txns...)
		})
	}
}
