package front

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// bothVersions runs a test with clients of transaction version 2 and of those before.
func bothVersions(t *testing.T, test func(t *testing.T, opts ...kgo.Opt)) {
	t.Run("v2", func(t *testing.T) { test(t) })
	t.Run("v1", func(t *testing.T) { test(t, kgo.MaxVersions(kversion.V3_6_0())) })
}

func (h *house) transactional(id string, opts ...kgo.Opt) *kgo.Client {
	h.t.Helper()
	return h.client(append(opts, kgo.TransactionalID(id), kgo.TransactionTimeout(time.Minute))...)
}

// transact produces values in one transaction.
func (h *house) transact(c *kgo.Client, commit bool, topic string, values ...string) {
	h.t.Helper()
	if err := c.BeginTransaction(); err != nil {
		h.t.Fatal(err)
	}
	for _, v := range values {
		if err := c.ProduceSync(patient(h.t), &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			h.t.Fatalf("produce %s: %v", v, err)
		}
	}
	if err := c.EndTransaction(patient(h.t), kgo.TransactionEndTry(commit)); err != nil {
		h.t.Fatalf("end with commit %v: %v", commit, err)
	}
}

var committedOnly = kgo.FetchIsolationLevel(kgo.ReadCommitted())

func TestTransactions(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		h := newHouse(t, 3)
		h.create("t", 3, 3, nil)
		c := h.transactional("id", opts...)
		var want []string
		for i := range 12 {
			commit := i%3 != 1
			values := []string{fmt.Sprint(i, "a"), fmt.Sprint(i, "b")}
			h.transact(c, commit, "t", values...)
			if commit {
				want = append(want, values...)
			}
		}
		slices.Sort(want)
		wantEqual(t, "read_committed", h.consume("t", len(want), committedOnly), want)
		h.restart()
		wantEqual(t, "read_committed after a restart", h.consume("t", len(want), committedOnly), want)
		h.transact(h.transactional("id", opts...), true, "t", "after")
		want = append(want, "after")
		slices.Sort(want)
		wantEqual(t, "after a restart", h.consume("t", len(want), committedOnly), want)
	})
}

func TestOpenRecordsAreReadOnceTheyAreCommitted(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		h := newHouse(t, 1)
		h.create("t", 1, 1, nil)
		c := h.transactional("id", opts...)
		if err := c.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := c.ProduceSync(patient(t), &kgo.Record{Topic: "t", Value: []byte("open")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		reader := h.client(kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), committedOnly, kgo.FetchMaxWait(50*time.Millisecond))
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		if f := reader.PollFetches(ctx); f.NumRecords() != 0 {
			t.Fatal("read before the commit")
		}
		if err := c.EndTransaction(patient(t), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "after the commit", poll(t, reader, 1), []string{"open"})
	})
}

// A successor fences its predecessor, whose open records are never committed.
func TestASuccessorFencesItsPredecessor(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		h := newHouse(t, 1)
		h.create("t", 1, 1, nil)
		old := h.transactional("id", opts...)
		if err := old.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := old.ProduceSync(patient(t), &kgo.Record{Topic: "t", Value: []byte("of the old one")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		h.transact(h.transactional("id", opts...), true, "t", "of the new one")
		err := old.ProduceSync(patient(t), &kgo.Record{Topic: "t", Value: []byte("late")}).FirstErr()
		if !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
			t.Fatalf("the old producer writes on: %v", err)
		}
		if err := old.EndTransaction(patient(t), kgo.TryCommit); err == nil {
			t.Fatal("the old producer commits")
		}
		wantEqual(t, "read_committed", h.consume("t", 1, committedOnly), []string{"of the new one"})
	})
}

// Consume, transform, produce: offsets and records are committed together, whoever is stopped in between.
func TestOffsetsAreCommittedWithTheirRecords(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		h := newHouse(t, 2)
		h.create("in", 2, 2, nil)
		h.create("out", 2, 2, nil)
		in := values("v", 40)
		h.produce("in", in)
		for attempt := range 6 {
			s, err := kgo.NewGroupTransactSession(append(opts, kgo.SeedBrokers(h.addrs...), kgo.TransactionalID("etl"), kgo.ConsumerGroup("g"),
				kgo.ConsumeTopics("in"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequireStableFetchOffsets(), committedOnly,
				kgo.DefaultProduceTopic("out"), kgo.FetchMaxWait(100*time.Millisecond))...)
			if err != nil {
				t.Fatal(err)
			}
			for {
				ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
				fetches := s.PollRecords(ctx, 7)
				cancel()
				if fetches.NumRecords() == 0 {
					break
				}
				if err := s.Begin(); err != nil {
					t.Fatal(err)
				}
				fetches.EachRecord(func(r *kgo.Record) { s.Produce(patient(t), kgo.StringRecord("out of "+string(r.Value)), nil) })
				committed, err := s.End(patient(t), kgo.TransactionEndTry(attempt%2 == 1))
				if err != nil || committed != (attempt%2 == 1) {
					t.Fatalf("committed %v, %v", committed, err)
				}
				if !committed {
					break // the next attempt reads the same again
				}
			}
			s.Close()
		}
		var want []string
		for _, v := range in {
			want = append(want, "out of "+string(v.Value))
		}
		slices.Sort(want)
		wantEqual(t, "out", h.consume("out", len(want), committedOnly), want)
		offsets, err := kadm.NewClient(h.client()).FetchOffsets(patient(t), "g")
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
		if sum != int64(len(in)) {
			t.Errorf("committed offsets add up to %d, want %d", sum, len(in))
		}
	})
}

// KIP-890, F49: a transactional batch is taken only for a transaction that its coordinator knows to have the partition.
func TestTransactionalBatchesAreVerified(t *testing.T) {
	h := newHouse(t, 1)
	topic := h.create("t", 1, 1, nil).ID
	id := "id"
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &id, 60_000
	p := h.raw(1, init, 5).(*kmsg.InitProducerIDResponse)
	if p.ErrorCode != 0 {
		t.Fatal(perr.Code(p.ErrorCode))
	}
	produce := func(version int16, id string, pid int64, epoch int16, sequence int32) perr.Code {
		r := kmsg.NewPtrProduceRequest()
		r.Acks, r.TimeoutMillis, r.TransactionID = -1, 5000, &id
		if id == "" {
			r.TransactionID = nil
		}
		rt := kmsg.NewProduceRequestTopic()
		rt.Topic, rt.TopicID = "t", topic
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Records = batchOf(pid, epoch, sequence)
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
		return perr.Code(h.raw(1, r, version).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	}
	end := func(epoch int16) *kmsg.EndTxnResponse {
		r := kmsg.NewPtrEndTxnRequest()
		r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Commit = id, p.ProducerID, epoch, true
		return h.raw(1, r, 5).(*kmsg.EndTxnResponse)
	}
	for _, c := range []struct {
		name    string
		version int16
		id      string
		pid     int64
		epoch   int16
		want    perr.Code
	}{
		{"without a transactional id", 9, "", p.ProducerID, 0, perr.TransactionalIdAuthorizationFailed},
		{"not added, old client", 10, id, p.ProducerID, 0, perr.InvalidTxnState},
		{"not added", 11, id, p.ProducerID, 0, perr.TransactionAbortable},
		{"an id of another cluster", 12, id, p.ProducerID + 1<<40, 0, perr.InvalidProducerIdMapping},
		{"an unknown transactional id", 12, "other", p.ProducerID, 0, perr.InvalidProducerIdMapping},
		{"an older epoch", 12, id, p.ProducerID, -1, perr.InvalidRecord},
		{"a newer epoch", 12, id, p.ProducerID, 1, perr.InvalidProducerEpoch},
		{"added by itself", 12, id, p.ProducerID, 0, perr.None},
	} {
		if got := produce(c.version, c.id, c.pid, c.epoch, 0); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if code := produce(9, id, p.ProducerID, 0, 1); code != perr.None {
		t.Errorf("an open transaction is not asked about again: %v", code)
	}
	e := end(0)
	if e.ErrorCode != 0 || e.ProducerEpoch != 1 || e.ProducerID != p.ProducerID {
		t.Fatalf("%+v", e)
	}
	if again := end(0); again.ErrorCode != 0 || again.ProducerEpoch != 1 {
		t.Errorf("a retry: %+v", again)
	}
	if code := produce(12, id, p.ProducerID, 0, 2); code != perr.InvalidProducerEpoch {
		t.Errorf("a late batch: %v", code)
	}
	if code := produce(12, id, p.ProducerID, 1, 0); code != perr.None {
		t.Errorf("the next transaction: %v", code)
	}
}

func batchOf(producer int64, epoch int16, sequence int32) []byte {
	return batch.Build(batch.Batch{ProducerID: producer, ProducerEpoch: epoch, BaseSequence: sequence, Attributes: 1 << 4, LeaderEpoch: -1},
		[]batch.Record{{Value: []byte("v")}}).Bytes
}

func TestToolsSeeAndEndTransactions(t *testing.T) {
	h := newHouse(t, 2)
	h.create("t", 1, 2, nil)
	c := h.transactional("id")
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := c.ProduceSync(patient(t), &kgo.Record{Topic: "t", Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(h.client())
	listed, err := admin.ListTransactions(patient(t), nil, nil)
	if err != nil || len(listed) != 1 || listed["id"].State != "Ongoing" {
		t.Fatalf("%v %+v", err, listed)
	}
	if listed, err = admin.ListTransactions(patient(t), nil, []string{"Empty"}); err != nil || len(listed) != 0 {
		t.Fatalf("%v %+v", err, listed)
	}
	described, err := admin.DescribeTransactions(patient(t), "id", "other")
	if err != nil {
		t.Fatal(err)
	}
	d := described["id"]
	if d.Err != nil || d.State != "Ongoing" || !d.Topics.Lookup("t", 0) || d.TimeoutMillis != 60_000 {
		t.Errorf("%+v", d)
	}
	if !errors.Is(described["other"].Err, kerr.TransactionalIDNotFound) {
		t.Errorf("%+v", described["other"])
	}
	m := kadm.TxnMarkers{ProducerID: d.ProducerID, ProducerEpoch: d.ProducerEpoch, Topics: kadm.TopicsSet{"t": {0: {}}}}
	marked, err := admin.WriteTxnMarkers(patient(t), m)
	if err != nil {
		t.Fatal(err)
	}
	marked.Each(func(r kadm.TxnMarkersResponse) {
		r.Topics.Each(func(at kadm.TxnMarkersTopicResponse) {
			at.Partitions.Each(func(p kadm.TxnMarkersPartitionResponse) {
				if p.Err != nil {
					t.Error(p.Err)
				}
			})
		})
	})
	h.produce("t", values("after", 1))
	wantEqual(t, "read_committed", h.consume("t", 1, committedOnly), []string{"after-0"})
	for pattern, want := range map[string]int{"": 1, "i.": 1, "x.*": 0, "(": -1} {
		r := kmsg.NewPtrListTransactionsRequest()
		r.TransactionalIDPattern = &pattern
		r.DurationFilterMillis = -1
		found := 0
		for b := range h.addrs {
			resp := h.raw(b+1, r, 2).(*kmsg.ListTransactionsResponse)
			if found += len(resp.TransactionStates); perr.Code(resp.ErrorCode) == perr.InvalidRegularExpression {
				found = -2
			}
		}
		if found != want && !(want == -1 && found < 0) {
			t.Errorf("pattern %q: %d, want %d", pattern, found, want)
		}
	}
}
