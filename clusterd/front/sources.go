package front

import (
	"cmp"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/registration"
	"lockstep/protocol/messages"
)

// withLedger calls use with what the registration ledger of this cluster says; empty if it cannot be asked now.
func (f *Front) withLedger(use func(registration.Description)) {
	f.cluster.Registration(func(ref core.RequestID) registration.Command { return registration.Describe{Ref: ref} }, func(reply any) {
		if d, ok := reply.(registration.Described); ok {
			use(d.Ledger)
			return
		}
		use(registration.Description{})
	})
}

// describeSources is this cluster as the source of others: who gates its topics, and who took them over.
func describeSources(d registration.Description) []messages.DescribeClusterMirrorsResponseSourceTopic {
	rows := map[core.TopicID]*messages.DescribeClusterMirrorsResponseSourceTopic{}
	row := func(id core.TopicID, name string) *messages.DescribeClusterMirrorsResponseSourceTopic {
		if rows[id] == nil {
			r := messages.NewDescribeClusterMirrorsResponseSourceTopic()
			r.TopicId, r.Standing = id, registration.TakesWrites.String()
			rows[id] = &r
		}
		if name != "" {
			rows[id].TopicName = name
		}
		return rows[id]
	}
	for _, r := range d.Registrations {
		at := row(r.Topic, r.Name)
		out := messages.NewDescribeClusterMirrorsResponseRegistration()
		out.ClusterId, out.MirrorName, out.Registered = string(r.Key.Cluster), string(r.Key.Mirror), r.Registered
		out.RegistrationEpoch, out.Generation, out.ReleaseNumber = int64(r.Epoch), int64(r.Generation), int64(r.Released)
		at.Registrations = append(at.Registrations, out)
	}
	for _, s := range d.Successions {
		at := row(s.Topic, s.Name)
		at.Era, at.Standing, at.Planned = int64(s.Era), s.Standing.String(), s.Planned
		at.SuccessorCluster, at.SuccessorMirror, at.SuccessorEra = string(s.By.Cluster), string(s.By.Mirror), int64(s.Next)
		at.Text, at.IgnoredClaims = s.Text, s.Ignored
	}
	list := make([]messages.DescribeClusterMirrorsResponseSourceTopic, 0, len(rows))
	for _, r := range rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b messages.DescribeClusterMirrorsResponseSourceTopic) int {
		return cmp.Or(cmp.Compare(a.TopicName, b.TopicName), slices.Compare(a.TopicId[:], b.TopicId[:]))
	})
	return list
}
