package image

import (
	"maps"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
)

// Empty is what a broker knows before the first fact.
func Empty() *Image {
	return &Image{
		Controller: core.NoReplica,
		Brokers:    map[core.ReplicaID]Broker{},
		Topics:     map[core.TopicID]*Topic{},
		Names:      map[string]core.TopicID{},
		Mirrors:    map[core.TopicID]MirrorTopic{},
		Sync:       map[core.TopicID]Registrations{},
		Features:   map[string]int16{},
		Quotas:     map[QuotaEntity]map[string]float64{},
		Settings:   map[core.ReplicaID]map[string]string{},

		Credentials: map[access.UserMechanism]access.Credential{},
	}
}

// Apply returns the image after one fact. img is not changed and may be read meanwhile.
func Apply(img *Image, fact Fact) *Image { return ApplyAll(img, []Fact{fact}) }

// ApplyAll returns the image after facts, in order, each counted in Version. A map is copied at most
// once per call and a topic at most once, so a broker that stops, with one fact per partition, costs
// one copy and not thousands. The facts' slices and maps become part of the image: nobody may change
// them afterwards.
func ApplyAll(img *Image, facts []Fact) *Image {
	w := &writer{img: *img}
	for _, f := range facts {
		w.apply(f)
	}
	return &w.img
}

// writer is an image under construction; owned says which parts are already copies.
type writer struct {
	img                                                    Image
	brokers, topics, names, mirrors, syn, quotas, settings bool
	credentials                                            bool
	partitions                                             map[core.TopicID]bool
}

func (w *writer) apply(f Fact) {
	w.img.Version++
	switch f := f.(type) {
	case ClusterNamed:
		w.img.Cluster, w.img.Incarnation = f.Cluster, f.Incarnation
	case BrokerChanged:
		own(&w.img.Brokers, &w.brokers)
		w.img.Brokers[f.Broker.ID] = f.Broker
		w.img.Controller = lowestLive(w.img.Brokers)
	case TopicChanged:
		w.topic(f.Topic)
	case PartitionChanged:
		w.partition(f)
	case TopicGone:
		w.gone(f.ID)
	case MirrorTopicChanged:
		own(&w.img.Mirrors, &w.mirrors)
		if f.Topic.State == MirrorNone {
			delete(w.img.Mirrors, f.ID)
		} else {
			w.img.Mirrors[f.ID] = f.Topic
		}
	case FeaturesChanged:
		w.img.Features = f.Levels
	case QuotaChanged:
		own(&w.img.Quotas, &w.quotas)
		if len(f.Limits) == 0 {
			delete(w.img.Quotas, f.Entity)
		} else {
			w.img.Quotas[f.Entity] = f.Limits
		}
	case SettingsChanged:
		own(&w.img.Settings, &w.settings)
		w.img.SettingsAt = w.img.Version
		if len(f.Values) == 0 {
			delete(w.img.Settings, f.Broker)
		} else {
			w.img.Settings[f.Broker] = f.Values
		}
	case ACLsChanged:
		w.img.ACLs = w.img.ACLs.Changed(f.Added, f.Removed)
	case CredentialChanged:
		own(&w.img.Credentials, &w.credentials)
		if f.Credential.Iterations == 0 {
			delete(w.img.Credentials, f.Of)
		} else {
			w.img.Credentials[f.Of] = f.Credential
		}
	case RegistrationsChanged:
		own(&w.img.Sync, &w.syn)
		if f.Registrations.empty() {
			delete(w.img.Sync, f.ID)
		} else {
			w.img.Sync[f.ID] = f.Registrations
		}
	default:
		panic("image: unknown fact")
	}
}

func (w *writer) topic(t Topic) {
	w.forgetName(t.ID, t.Name)
	own(&w.img.Topics, &w.topics)
	w.img.Topics[t.ID] = &t
	if w.img.Names[t.Name] != t.ID {
		own(&w.img.Names, &w.names)
		w.img.Names[t.Name] = t.ID
	}
	delete(w.partitions, t.ID) // the slice is the fact's, not ours
}

// partition ignores a partition that is not known: the topic was deleted in between.
func (w *writer) partition(f PartitionChanged) {
	t := w.img.Topics[f.ID.Topic]
	if t == nil || f.ID.Index < 0 || int(f.ID.Index) >= len(t.Partitions) {
		return
	}
	if !w.partitions[t.ID] {
		own(&w.img.Topics, &w.topics)
		fresh := *t
		fresh.Partitions = slices.Clone(t.Partitions)
		t = &fresh
		w.img.Topics[t.ID] = t
		if w.partitions == nil {
			w.partitions = map[core.TopicID]bool{}
		}
		w.partitions[t.ID] = true
	}
	t.Partitions[f.ID.Index] = f.Partition
}

func (w *writer) gone(id core.TopicID) {
	if w.img.Topics[id] == nil {
		return
	}
	w.forgetName(id, "")
	own(&w.img.Topics, &w.topics)
	delete(w.img.Topics, id)
	delete(w.partitions, id)
}

// forgetName drops the name topic id has, unless it is keep or already means another topic.
func (w *writer) forgetName(id core.TopicID, keep string) {
	old := w.img.Topics[id]
	if old == nil || old.Name == keep || w.img.Names[old.Name] != id {
		return
	}
	own(&w.img.Names, &w.names)
	delete(w.img.Names, old.Name)
}

func own[K comparable, V any](m *map[K]V, owned *bool) {
	if *owned {
		return
	}
	*m = maps.Clone(*m)
	if *m == nil {
		*m = map[K]V{}
	}
	*owned = true
}

func lowestLive(brokers map[core.ReplicaID]Broker) core.ReplicaID {
	lowest := core.NoReplica
	for id, b := range brokers {
		if b.Live && (lowest == core.NoReplica || id < lowest) {
			lowest = id
		}
	}
	return lowest
}
