package front

import (
	"cmp"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
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
func (f *Front) describeSources(d registration.Description) []messages.DescribeClusterMirrorsResponseSourceTopic {
	now := f.cluster.Now().Mono
	gates := f.gatesByMirror()
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
		out.Leaving = r.Leaving
		if r.LeaveBy != 0 {
			out.LeaveMs = max(0, r.LeaveBy-now) / 1e6
		}
		if g, gated := gates[registration.LedgerKey{Mirror: r.Key, Topic: r.Topic}]; gated && (r.Registered || r.Leaving) {
			out.SilentMs, out.HoldsMs = since(now, g.heard), since(now, g.holds)
		}
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

// sourcesFor leaves what the asker may see: of each topic the mirrors that they may describe, and the topics that have one, or
// that they may describe themselves.
func (f *Front) sourcesFor(from Client, all []messages.DescribeClusterMirrorsResponseSourceTopic) []messages.DescribeClusterMirrorsResponseSourceTopic {
	if !f.access.On {
		return all
	}
	for i := range all {
		t := &all[i]
		t.Registrations = slices.DeleteFunc(t.Registrations, func(r messages.DescribeClusterMirrorsResponseRegistration) bool {
			return !f.seesMirror(from, r.MirrorName)
		})
		if t.SuccessorMirror != "" && !f.seesMirror(from, t.SuccessorMirror) {
			t.SuccessorCluster, t.SuccessorMirror, t.Text = "", "", ""
		}
	}
	return slices.DeleteFunc(all, func(t messages.DescribeClusterMirrorsResponseSourceTopic) bool {
		return len(t.Registrations) == 0 && t.SuccessorMirror == "" && !f.sees(from, access.Describe, access.Topic, t.TopicName)
	})
}

// gateAge is what the leaders of a topic know of one mirror, over all its partitions.
type gateAge struct {
	heard int64 // mono ns of the newest report that any leader believed; 0: none
	holds int64 // mono ns since when the mirror holds some partition; 0: it holds none
}

func (f *Front) gatesByMirror() map[registration.LedgerKey]gateAge {
	ages := map[registration.LedgerKey]gateAge{}
	for _, b := range f.cluster.Brokers() {
		for _, r := range b.Replicas() {
			if !r.View().IsLeader {
				continue
			}
			for _, g := range r.Gates().Gates {
				k := registration.LedgerKey{Mirror: g.Key, Topic: r.ID().Topic}
				age := ages[k]
				age.heard = max(age.heard, g.LastReport)
				if g.HoldsSince != 0 && (age.holds == 0 || g.HoldsSince < age.holds) {
					age.holds = g.HoldsSince
				}
				ages[k] = age
			}
		}
	}
	return ages
}

// since is in ms; -1: never.
func since(now, at int64) int64 {
	if at <= 0 {
		return -1
	}
	return max(0, now-at) / 1e6
}
