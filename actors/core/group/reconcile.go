package group

import (
	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
)

// reconcile moves a member one step towards its target (KIP-848, "Reconciliation"). owned is what the member says it
// has, nil when it does not say; free tells whether nobody else has a partition.
func (m consumer) reconcile(epoch int32, target, owned assignor.Partitions, free func(core.PartitionID) bool) consumer {
	switch m.stage {
	case settled:
		if m.epoch == epoch {
			return m
		}
		return m.next(m.epoch, epoch, target, owned, free)
	case unrevoked:
		if waitForRevocation && (owned == nil || owned.Meets(m.revoking)) {
			return m
		}
		return m.next(m.epoch+1, epoch, target, owned, free)
	case unreleased:
		return m.next(m.epoch, epoch, target, owned, free)
	default:
		panic("group: unknown stage")
	}
}

// next: first everything that is not in the target is given up, on the epoch the member has, so that its commits count
// until it has done so; then it goes on to the newest epoch and gets what nobody else has.
func (m consumer) next(current, epoch int32, target, owned assignor.Partitions, free func(core.PartitionID) bool) consumer {
	kept := m.assigned.And(target)
	extra := m.assigned.Without(kept)
	if extra.Len() > 0 && (owned == nil || owned.Meets(extra)) && waitForRevocation {
		return m.on(current, unrevoked, kept, extra)
	}
	wanted := target.Without(kept)
	ready := wanted.Keep(func(t core.TopicID, p int32) bool {
		return !waitForRelease || free(core.PartitionID{Topic: t, Index: p})
	})
	at := settled
	if ready.Len() < wanted.Len() {
		at = unreleased
	}
	return m.on(epoch, at, kept.Or(ready), assignor.Partitions{})
}

func (m consumer) on(epoch int32, at stage, assigned, revoking assignor.Partitions) consumer {
	if epoch != m.epoch {
		m.previous, m.epoch = m.epoch, epoch
	}
	m.stage, m.assigned, m.revoking = at, assigned, revoking
	return m
}

func (m consumer) sameAs(o consumer) bool {
	return m.epoch == o.epoch && m.previous == o.previous && m.stage == o.stage && m.assigned.Equal(o.assigned) && m.revoking.Equal(o.revoking)
}
