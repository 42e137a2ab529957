package pair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"lockstep/clusterd/process"
	"lockstep/protocol/perr"
)

func (d *datacenter) transactional(t *testing.T, id string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.Bootstrap()...), kgo.TransactionalID(id), kgo.TransactionTimeout(2*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.CloseAllowingRebalance)
	return cl
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// write begins a transaction with one record for each partition of each topic.
func write(t *testing.T, cl *kgo.Client, value string, topics ...string) []string {
	t.Helper()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	var wrote []string
	for _, topic := range topics {
		for i := range 6 {
			v := fmt.Sprintf("%s-%s-%d", value, topic, i)
			if err := cl.ProduceSync(soon(t), &kgo.Record{Topic: topic, Key: fmt.Append(nil, i), Value: []byte(v)}).FirstErr(); err != nil {
				t.Fatalf("%s: %v", v, err)
			}
			wrote = append(wrote, v)
		}
	}
	return wrote
}

func end(t *testing.T, cl *kgo.Client, commit bool) {
	t.Helper()
	if err := cl.EndTransaction(soon(t), kgo.TransactionEndTry(commit)); err != nil {
		t.Fatalf("end with commit %v: %v", commit, err)
	}
}

// stable reads what is committed of topics, once no transaction is open in them.
func (d *datacenter) stable(t *testing.T, topics ...string) []string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.Bootstrap()...), kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	a := kadm.NewClient(cl)
	left := map[string]int64{}
	eventually(t, "no transaction is open", func() (string, bool) {
		all, err := a.ListEndOffsets(soon(t), topics...)
		committed, err2 := a.ListCommittedOffsets(soon(t), topics...)
		if err := errors.Join(err, err2, all.Error(), committed.Error()); err != nil {
			return err.Error(), false
		}
		clear(left)
		seen, open := "", false
		all.Each(func(o kadm.ListedOffset) {
			c, _ := committed.Lookup(o.Topic, o.Partition)
			seen += fmt.Sprintf("%s/%d stable to %d of %d; ", o.Topic, o.Partition, c.Offset, o.Offset)
			open = open || c.Offset != o.Offset
			if o.Offset > 0 {
				left[fmt.Sprint(o.Topic, o.Partition)] = o.Offset
			}
		})
		return seen, !open
	})
	found := map[string]int{}
	for ctx := soon(t); len(left) > 0; {
		f := cl.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			t.Fatalf("left %v: %v", left, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				found[string(r.Value)]++
			}
			if at := fmt.Sprint(r.Topic, r.Partition); r.Offset+1 >= left[at] {
				delete(left, at)
			}
		})
	}
	for v, n := range found {
		if n != 1 {
			t.Errorf("%s was read %d times", v, n)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// C9, C12, C13: whatever transaction the source answered is at the destination as it was answered, what was open when it
// died is aborted, and the producers begin anew there.
func TestTransactionsSurviveTheirSource(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2"})
	source.createTopic(t, "orders", 3)
	source.createTopic(t, "payments", 2)
	destination.createMirror(t, "dr", source)
	for _, topic := range []string{"orders", "payments"} {
		destination.startSync(t, "dr", topic)
		destination.awaitSync(t, "dr", topic)
	}
	cl := source.transactional(t, "app")
	var want []string
	for i := range 12 {
		wrote := write(t, cl, fmt.Sprint(i), "orders", "payments")
		end(t, cl, i%3 != 1)
		if i%3 != 1 {
			want = append(want, wrote...)
		}
	}
	write(t, cl, "open", "orders", "payments")
	pid, epoch, err := cl.ProducerID(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	source.Kill()
	for _, topic := range []string{"orders", "payments"} {
		destination.stopTopic(t, "dr", topic)
	}
	for _, topic := range []string{"orders", "payments"} {
		destination.awaitStopped(t, "dr", topic)
	}
	slices.Sort(want)
	if got := destination.stable(t, "orders", "payments"); !slices.Equal(got, want) {
		t.Errorf("%d records are committed at the destination, want %d", len(got), len(want))
	}

	next := destination.transactional(t, "app")
	want = append(want, write(t, next, "next", "orders")...)
	end(t, next, true)
	slices.Sort(want)
	if got := destination.stable(t, "orders", "payments"); !slices.Equal(got, want) {
		t.Errorf("%d records are committed after the successor, want %d", len(got), len(want))
	}
	// F49: the old producer, should it move without beginning anew.
	r := kmsg.NewPtrAddPartitionsToTxnRequest()
	r.TransactionalID, r.ProducerID, r.ProducerEpoch = "app", pid, epoch
	r.Topics = append(r.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: "orders", Partitions: []int32{0}})
	old, err := kgo.NewClient(kgo.SeedBrokers(destination.Bootstrap()...), kgo.MaxVersions(kversion.V3_3_0()))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	resp, err := r.RequestWith(soon(t), old)
	if err != nil {
		t.Fatal(err)
	}
	if code := perr.Code(resp.Topics[0].Partitions[0].ErrorCode); code != perr.InvalidProducerIdMapping {
		t.Errorf("the old producer id is answered with %s", code)
	}
}

// I47, C12: a planned move ends what is open and loses no commit.
func TestASwitchoverKeepsTransactionsWhole(t *testing.T) {
	t.Parallel()
	source, destination := mirroredPair(t, process.Spec{Cluster: "dc1"}, process.Spec{Cluster: "dc2"}, 3)
	var want []string
	done, open := source.transactional(t, "done"), source.transactional(t, "open")
	for i := range 5 {
		want = append(want, write(t, done, fmt.Sprint(i), "orders")...)
		end(t, done, true)
	}
	write(t, open, "open", "orders")
	destination.switchOver(t, "dr", "orders")
	destination.awaitStopped(t, "dr", "orders")
	if err := open.EndTransaction(soon(t), kgo.TryCommit); err == nil || errors.Is(err, kerr.UnknownServerError) {
		t.Errorf("what the switchover aborted is committed: %v", err)
	}
	slices.Sort(want)
	if got := destination.stable(t, "orders"); !slices.Equal(got, want) {
		t.Errorf("%d records are committed at the destination, want %d", len(got), len(want))
	}
	source.awaitStanding(t, "orders", "SUPERSEDED")
}
