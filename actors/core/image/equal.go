package image

import (
	"maps"
	"slices"

	"lockstep/actors/core/access"
)

// Equal reports whether two images say the same of the cluster. Versions are left out: a fact applied
// twice is counted twice and says nothing new.
func (i *Image) Equal(o *Image) bool {
	return i.Cluster == o.Cluster && i.Controller == o.Controller &&
		maps.Equal(i.Brokers, o.Brokers) && maps.Equal(i.Features, o.Features) &&
		maps.Equal(i.Names, o.Names) &&
		maps.Equal(i.Mirrors, o.Mirrors) &&
		maps.EqualFunc(i.Topics, o.Topics, func(a, b *Topic) bool { return a.Equal(b) }) &&
		maps.EqualFunc(i.Quotas, o.Quotas, maps.Equal[map[string]float64, map[string]float64]) &&
		maps.EqualFunc(i.Settings, o.Settings, maps.Equal[map[string]string, map[string]string]) &&
		i.ACLs.Equal(o.ACLs) &&
		maps.EqualFunc(i.Credentials, o.Credentials, access.Credential.Equal) &&
		maps.EqualFunc(i.Sync, o.Sync, Registrations.Equal)
}

// Equal reports whether two topics are the same; nil and empty are.
func (t *Topic) Equal(o *Topic) bool {
	return t.ID == o.ID && t.Name == o.Name && maps.Equal(t.Config, o.Config) &&
		slices.EqualFunc(t.Partitions, o.Partitions, Partition.Equal)
}

// Equal reports whether two partitions are the same.
func (p Partition) Equal(o Partition) bool {
	return slices.Equal(p.Replicas, o.Replicas) && slices.Equal(p.ISR, o.ISR) &&
		slices.Equal(p.Adding, o.Adding) && slices.Equal(p.Removing, o.Removing) &&
		p.Leader == o.Leader && p.LeaderEpoch == o.LeaderEpoch && p.PartitionEpoch == o.PartitionEpoch &&
		p.LastUnclean == o.LastUnclean && p.MinISR == o.MinISR && p.Text == o.Text
}

// Equal reports whether the same mirrors are registered and released, under the same fence and era.
func (r Registrations) Equal(o Registrations) bool {
	return r.Fence == o.Fence && r.Era == o.Era && slices.Equal(r.Gates, o.Gates) && slices.Equal(r.Released, o.Released)
}
