package front

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/clusterd/security"
)

// Two users of a stock client, over SASL: alice may do everything, bob what she lets him, from the moment she does.
func TestUsersDoWhatACLsAllow(t *testing.T) {
	h := newHouse(t, 2)
	h.settings = map[string]string{access.AuthorizerClass: access.StandardAuthorizer, access.SuperUsers: "User:alice"}
	h.asking(nil)
	user := func(name string, opts ...kgo.Opt) *kgo.Client {
		return h.client(append(opts, kgo.SASL(mechanisms(name, name+"-secret")[security.ScramSHA256]))...)
	}
	alice, bob := kadm.NewClient(user("alice")), kadm.NewClient(user("bob"))
	for _, topic := range []string{"orders", "secret"} {
		if _, err := alice.CreateTopic(patient(t), 1, 2, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	write := func(c *kgo.Client, topic, value string) error {
		t.Helper()
		return c.ProduceSync(patient(t), &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
	}
	if err := write(user("alice"), "secret", "s"); err != nil {
		t.Fatal(err)
	}
	if err := write(user("bob", kgo.DisableIdempotentWrite()), "orders", "x"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("bob writes before he may: %v", err)
	}
	allow := func(b *kadm.ACLBuilder) {
		t.Helper()
		made, err := alice.CreateACLs(patient(t), b.Allow("User:bob").ResourcePatternType(kadm.ACLPatternLiteral))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made {
			if m.Err != nil {
				t.Fatal(m.Err, m.ErrMessage)
			}
		}
	}
	allow(kadm.NewACLs().Topics("orders").Operations(kadm.OpWrite, kadm.OpRead))
	allow(kadm.NewACLs().Groups("bobs").Operations(kadm.OpRead))
	if err := write(user("bob"), "orders", "o"); err != nil { // with a producer id, for which a topic to write is enough
		t.Errorf("bob writes: %v", err)
	}
	if err := write(user("bob"), "secret", "x"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("bob writes to another topic: %v", err)
	}
	consumer := user("bob", kgo.ConsumerGroup("bobs"), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	wantEqual(t, "bob reads", poll(t, consumer, 1), []string{"o"})
	if err := consumer.CommitUncommittedOffsets(patient(t)); err != nil {
		t.Errorf("bob commits: %v", err)
	}
	short, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := user("bob", kgo.ConsumeTopics("secret")).PollFetches(short).Err(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("bob reads another topic: %v", err)
	}
	if topics, err := bob.ListTopics(patient(t)); err != nil || len(topics) != 1 || !topics.Has("orders") {
		t.Errorf("bob sees %v, %v", topics.Names(), err)
	}
	if groups, err := bob.ListGroups(patient(t)); err != nil || len(groups) != 1 {
		t.Errorf("bob sees %v, %v", groups.Groups(), err)
	}
	txn := user("bob", kgo.TransactionalID("tx"))
	if err := txn.BeginTransaction(); err == nil {
		if err = write(txn, "orders", "x"); !errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
			t.Errorf("bob writes in a transaction: %v", err)
		}
	}
	if made, err := bob.CreateTopic(patient(t), 1, 1, nil, "new"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("bob makes a topic: %v, %v", made, err)
	}
	allow(kadm.NewACLs().Topics("new").Operations(kadm.OpCreate))
	if made, err := bob.CreateTopic(patient(t), 1, 1, nil, "new"); err != nil {
		t.Errorf("bob makes a topic that he may make: %v, %v", made, err)
	}
	gone, err := alice.DeleteACLs(patient(t), kadm.NewACLs().Topics("orders").Operations(kadm.OpWrite).Allow("User:bob").AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral))
	if err != nil || len(gone) != 1 || gone[0].Err != nil || len(gone[0].Deleted) != 1 {
		t.Fatalf("%+v, %v", gone, err)
	}
	if err := write(user("bob", kgo.DisableIdempotentWrite()), "orders", "x"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("bob writes after he may not any more: %v", err)
	}
}

// What a producer of transactions asks for on its way, in both protocols of them, is covered by WRITE of its id and its topics and
// READ of the group.
func TestATransactionNeedsItsIdItsTopicsAndItsGroup(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		h := newHouse(t, 2)
		h.create("t", 2, 2, nil)
		h.settings = map[string]string{access.AuthorizerClass: access.StandardAuthorizer, access.SuperUsers: "User:alice"}
		h.asking(nil)
		login := func(user string) kgo.Opt {
			return kgo.SASL(mechanisms(user, user+"-secret")[security.ScramSHA256])
		}
		alice := kadm.NewClient(h.client(login("alice")))
		for _, b := range []*kadm.ACLBuilder{
			kadm.NewACLs().Topics("t").Operations(kadm.OpWrite, kadm.OpRead),
			kadm.NewACLs().TransactionalIDs("tx").Operations(kadm.OpWrite),
			kadm.NewACLs().Groups("g").Operations(kadm.OpRead),
		} {
			if made, err := alice.CreateACLs(patient(t), b.Allow("User:bob").ResourcePatternType(kadm.ACLPatternLiteral)); err != nil || made[0].Err != nil {
				t.Fatal(made, err)
			}
		}
		h.transact(h.transactional("tx", append(opts, login("bob"))...), true, "t", "a", "b")
		s, err := kgo.NewGroupTransactSession(append(opts, login("bob"), kgo.SeedBrokers(h.addrs...), kgo.TransactionalID("tx"), kgo.ConsumerGroup("g"),
			kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), committedOnly)...)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if fetches := s.PollFetches(patient(t)); fetches.Err() != nil {
			t.Fatal(fetches.Err())
		}
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := s.ProduceSync(patient(t), &kgo.Record{Topic: "t", Value: []byte("c")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if done, err := s.End(patient(t), kgo.TryCommit); !done || err != nil {
			t.Errorf("committed %v, %v", done, err)
		}
	})
}

// A pattern of a consumer finds only topics that it may describe, and a group is described to who may describe all it reads.
func TestAPatternFindsWhatMayBeDescribed(t *testing.T) {
	h := guarded(t, nil)
	topic, _ := h.secrets()
	bob := access.UserNamed("bob")
	h.allow(right(bob, "READ GROUP:bobs"), right(bob, "DESCRIBE TOPIC"))
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = "bobs", "m", 60_000
	beat.SubscribedTopicRegex, beat.Topics = text("secret-.*"), []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	got := h.as(bob, beat, 1).(*kmsg.ConsumerGroupHeartbeatResponse)
	if got.ErrorCode != 0 || got.Assignment == nil || len(got.Assignment.Topics) != 1 || core.TopicID(got.Assignment.Topics[0].TopicID) != topic {
		t.Errorf("%+v %+v", got, got.Assignment)
	}
	describe := kmsg.NewPtrConsumerGroupDescribeRequest()
	describe.Groups = []string{"bobs"}
	if g := h.as(bob, describe, 1).(*kmsg.ConsumerGroupDescribeResponse).Groups[0]; g.ErrorCode != 0 || len(g.Members) != 1 {
		t.Errorf("%+v", g)
	}
}
