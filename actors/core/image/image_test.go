package image

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
)

// twin is the dumb image: it forgets nothing it was told and computes every answer from the list.
type twin []Fact

func (w twin) image() *Image {
	img := Empty()
	for _, f := range w {
		img.Version++
		switch f := f.(type) {
		case ClusterNamed:
			img.Cluster, img.Incarnation = f.Cluster, f.Incarnation
		case BrokerChanged:
			img.Brokers[f.Broker.ID] = f.Broker
		case TopicChanged:
			t := f.Topic
			t.Partitions = slices.Clone(t.Partitions)
			img.Topics[t.ID] = &t
		case PartitionChanged:
			if t := img.Topics[f.ID.Topic]; t != nil && int(f.ID.Index) < len(t.Partitions) {
				t.Partitions[f.ID.Index] = f.Partition
			}
		case TopicGone:
			delete(img.Topics, f.ID)
		case MirrorTopicChanged:
			if delete(img.Mirrors, f.ID); f.Topic.State != MirrorNone {
				img.Mirrors[f.ID] = f.Topic
			}
		case FeaturesChanged:
			img.Features = f.Levels
		case QuotaChanged:
			if delete(img.Quotas, f.Entity); len(f.Limits) > 0 {
				img.Quotas[f.Entity] = f.Limits
			}
		case SettingsChanged:
			if delete(img.Settings, f.Broker); len(f.Values) > 0 {
				img.Settings[f.Broker] = f.Values
			}
		case ACLsChanged:
			img.ACLs = img.ACLs.Without(f.Removed...).With(f.Added...)
		case CredentialChanged:
			if delete(img.Credentials, f.Of); f.Credential.Iterations > 0 {
				img.Credentials[f.Of] = f.Credential
			}
		case RegistrationsChanged:
			if delete(img.Sync, f.ID); len(f.Registrations.Gates) > 0 || f.Registrations.Fence.Number != 0 || f.Registrations.Era != 0 {
				img.Sync[f.ID] = f.Registrations
			}
		}
	}
	for id, t := range img.Topics {
		img.Names[t.Name] = id
	}
	for id := core.ReplicaID(9); id > 0; id-- {
		if img.Brokers[id].Live {
			img.Controller = id
		}
	}
	return img
}

func randomFact(r *rand.Rand) Fact {
	n := 1 + r.IntN(5)
	id := core.TopicID{byte(n)}
	part := Partition{Leader: core.ReplicaID(r.IntN(4)), LeaderEpoch: core.LeaderEpoch(r.IntN(9)), ISR: []core.ReplicaID{1, core.ReplicaID(r.IntN(3))}}
	switch r.IntN(14) {
	case 0:
		return ClusterNamed{core.ClusterID(fmt.Sprint("dc", r.IntN(2))), core.Incarnation{byte(r.IntN(3))}}
	case 1:
		return BrokerChanged{Broker{ID: core.ReplicaID(1 + r.IntN(3)), Live: r.IntN(2) == 0, Port: int32(r.IntN(3))}}
	case 2: // a name belongs to one id, but a topic may be renamed
		return TopicChanged{Topic{ID: id, Name: fmt.Sprintf("t%d-%d", n, r.IntN(2)), Partitions: make([]Partition, r.IntN(4))}}
	case 3, 4:
		return PartitionChanged{core.PartitionID{Topic: id, Index: int32(r.IntN(4))}, part}
	case 5:
		return TopicGone{id}
	case 7:
		return FeaturesChanged{map[string]int16{"f": int16(r.IntN(2))}}
	case 8:
		limits := map[string]float64{"producer_byte_rate": float64(r.IntN(3)), "request_percentage": 1}
		if r.IntN(2) == 0 {
			limits = nil
		}
		return QuotaChanged{QuotaEntity{Client: QuotaName{QuotaKind(1 + r.IntN(2)), ""}}, limits}
	case 9:
		return SettingsChanged{core.ReplicaID(r.IntN(2)) - 1, map[string]string{"log.retention.ms": fmt.Sprint(r.IntN(3))}}
	case 10:
		return SettingsChanged{core.ReplicaID(r.IntN(2)) - 1, nil}
	case 12:
		binding := access.Binding{Pattern: access.Pattern{Type: access.Topic, Name: fmt.Sprint("t", r.IntN(2)), Kind: access.Prefixed}, Principal: access.UserNamed("a"), Operation: access.Read}
		if r.IntN(2) == 0 {
			return ACLsChanged{Added: []access.Binding{binding}}
		}
		return ACLsChanged{Removed: []access.Binding{binding}}
	case 13:
		return CredentialChanged{access.UserMechanism{User: fmt.Sprint("u", r.IntN(2)), Mechanism: access.ScramSHA256}, access.Credential{Salt: []byte{1}, Iterations: int32(r.IntN(2)) * 4096}}
	case 6:
		return MirrorTopicChanged{id, MirrorTopic{Mirror: "m", State: []MirrorState{MirrorNone, MirrorMirroring}[r.IntN(2)], Session: core.MirrorSession(r.IntN(5))}}
	default:
		return RegistrationsChanged{id, Registrations{Gates: make([]Gate, r.IntN(3)), Fence: Fence{Number: int64(r.IntN(2))}, Era: core.Era(r.IntN(2))}}
	}
}

func TestAnImageSaysWhatTheListOfItsFactsSays(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var facts twin
		img, version := Empty(), int64(0)
		for range 60 {
			batch := make([]Fact, 1+r.IntN(4))
			for i := range batch {
				batch[i] = randomFact(r)
			}
			before := facts.image()
			next := ApplyAll(img, batch)
			if !img.Equal(before) {
				t.Fatalf("seed %d: applying %v changed the image it started from", seed, batch)
			}
			facts = append(facts, batch...)
			version += int64(len(batch))
			if want := facts.image(); !next.Equal(want) || next.Version != version {
				t.Fatalf("seed %d: after %v\n got %+v\nwant %+v", seed, batch, next, want)
			}
			img = next
		}
	}
}

func TestAFactAppliedTwiceSaysNothingNew(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		img := Empty()
		for range 60 {
			f := randomFact(r)
			once := Apply(img, f)
			if twice := Apply(once, f); !twice.Equal(once) || twice.Version != once.Version+1 {
				t.Fatalf("seed %d: %#v is not idempotent", seed, f)
			}
			img = once
		}
	}
}

func TestOneFactCopiesOnlyTheTopicItNames(t *testing.T) {
	img := Empty()
	for n := range 3000 {
		img = Apply(img, TopicChanged{Topic{ID: core.TopicID{byte(n), byte(n >> 8)}, Name: fmt.Sprint(n), Partitions: make([]Partition, 2)}})
	}
	next := Apply(img, PartitionChanged{core.PartitionID{Topic: core.TopicID{7}, Index: 1}, Partition{Leader: 3}})
	for id := range img.Topics {
		if same := img.Topics[id] == next.Topics[id]; same == (id == core.TopicID{7}) {
			t.Fatalf("topic %v: shared %v", id, same)
		}
	}
	if img.Leader(core.PartitionID{Topic: core.TopicID{7}, Index: 1}) == 3 {
		t.Fatal("the old image changed")
	}
}

func TestAStoppedBrokerMovesOnlyItsOwnShards(t *testing.T) {
	img := Empty()
	for id := core.ReplicaID(1); id <= 3; id++ {
		img = Apply(img, BrokerChanged{Broker{ID: id, Live: true}})
	}
	without := Apply(img, BrokerChanged{Broker{ID: 2}})
	for shard := range int32(16) {
		before, after := img.ShardOwner(shard), without.ShardOwner(shard)
		if before != 2 && after != before || after == 2 {
			t.Fatalf("shard %d moved from %d to %d", shard, before, after)
		}
	}
	if got := Empty().ShardOwner(3); got != core.NoReplica {
		t.Fatalf("no broker is live, yet %d owns the shard", got)
	}
	if without.Controller != 1 || Apply(without, BrokerChanged{Broker{ID: 1}}).Controller != 3 {
		t.Fatal("the controller is not the lowest live broker")
	}
}

func TestLookups(t *testing.T) {
	id := core.TopicID{1}
	img := ApplyAll(Empty(), []Fact{
		BrokerChanged{Broker{ID: 3, Live: true}}, BrokerChanged{Broker{ID: 1, Live: true}}, BrokerChanged{Broker{ID: 2}},
		TopicChanged{Topic{ID: id, Name: "b", Partitions: []Partition{{Leader: 3}}}},
		TopicChanged{Topic{ID: core.TopicID{2}, Name: "a"}},
	})
	byName, named := img.TopicNamed("b")
	byID, known := img.Topic(id)
	if !named || !known || byName != byID {
		t.Errorf("by name %v, by id %v", byName, byID)
	}
	if _, named := img.TopicNamed("c"); named {
		t.Error("c is not a topic")
	}
	for index, want := range map[int32]core.ReplicaID{-1: core.NoReplica, 0: 3, 1: core.NoReplica} {
		if got := img.Leader(core.PartitionID{Topic: id, Index: index}); got != want {
			t.Errorf("partition %d is led by %d, want %d", index, got, want)
		}
	}
	if got := fmt.Sprint(img.Live(), img.TopicNames()); got != "[1 3] [a b]" {
		t.Error(got)
	}
}

func BenchmarkApplyPartitionChangedOf5000Topics(b *testing.B) {
	img := Empty()
	for n := range 5000 {
		img = Apply(img, TopicChanged{Topic{ID: core.TopicID{byte(n), byte(n >> 8)}, Name: fmt.Sprint(n), Partitions: make([]Partition, 3)}})
	}
	for b.Loop() {
		Apply(img, PartitionChanged{core.PartitionID{Topic: core.TopicID{7}}, Partition{Leader: 3}})
	}
}
