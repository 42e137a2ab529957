package target

import (
	"maps"
	"slices"
	"testing"

	"lockstep/actors/core"
)

// The history of F38: dr1 was cut off at epoch 5 with a tail that was never acknowledged, and released; the source's
// new leader acknowledged two more records on dr2's word.
func cutOff() Candidate {
	return Candidate{Cluster: "dr1", Armed: true, Adopted: 5, GatedIn: 5, Floor: 105, LogEnd: 105, T: 1000}
}

func gated() Candidate {
	return Candidate{Cluster: "dr2", Armed: true, Adopted: 6, GatedIn: 6, Floor: 102, LogEnd: 102, T: 2000}
}

func TestTheBestTargetHoldsWhatWasAcknowledged(t *testing.T) {
	with := func(c Candidate, change func(*Candidate)) Candidate { change(&c); return c }
	for _, row := range []struct {
		name string
		list []Candidate
		want core.ClusterID // "": cannot be told
	}{
		{"F38: the longest log has a tail that nobody acknowledged (T1)", []Candidate{cutOff(), gated()}, "dr2"},
		{"in one epoch more is better", []Candidate{
			with(cutOff(), func(c *Candidate) { c.Adopted, c.GatedIn = 6, 6 }), gated()}, "dr1"},
		{"one that is not armed has no word about acks, whatever its epoch (T2)", []Candidate{
			with(gated(), func(c *Candidate) {
				c.Cluster, c.Armed, c.Adopted, c.GatedIn, c.Floor, c.LogEnd = "dr3", false, 7, core.NoEpoch, 103, 103
			}),
			cutOff()}, "dr1"},
		{"one that was told of its release is among the others (T4)", []Candidate{
			with(cutOff(), func(c *Candidate) { c.Adopted, c.GatedIn, c.Refused, c.Floor = 7, 7, true, 101 }), gated()}, "dr2"},
		{"a newer epoch that may not have gated, and a shorter log: nobody can tell (T4)", []Candidate{
			with(cutOff(), func(c *Candidate) { c.Adopted, c.Floor = 7, 101 }), gated()}, ""},
		{"the same with a log that reaches as far", []Candidate{
			with(cutOff(), func(c *Candidate) { c.Adopted, c.Floor = 7, 102 }), gated()}, "dr1"},
		{"no leader there: unknown is not low", []Candidate{
			with(cutOff(), func(c *Candidate) { c.Floor, c.LogEnd = core.Unknown, core.Unknown }), gated()}, ""},
		{"after a restart there is no floor: the leader's durable log stands for it", []Candidate{
			with(gated(), func(c *Candidate) { c.Cluster, c.Floor, c.LogEnd = "dr3", core.Unknown, 103 }), gated()}, "dr3"},
		{"nobody is armed: the later T", []Candidate{
			with(cutOff(), func(c *Candidate) { c.Armed, c.Adopted, c.Floor, c.LogEnd = false, 9, 900, 900 }),
			with(gated(), func(c *Candidate) { c.Armed = false })}, "dr2"},
		{"nobody is armed and T is one: the newer epoch", []Candidate{
			with(cutOff(), func(c *Candidate) { c.Armed, c.GatedIn, c.T = false, core.NoEpoch, 0 }),
			with(gated(), func(c *Candidate) { c.Armed, c.GatedIn, c.T = false, core.NoEpoch, 0 })}, "dr2"},
		{"alone", []Candidate{cutOff()}, "dr1"},
		{"none", nil, ""},
	} {
		for range 2 {
			v := Choose(row.list)
			var got core.ClusterID
			if len(v.Best) > 0 {
				got = row.list[v.Best[0]].Cluster
			}
			if got != row.want || v.Reason == "" {
				t.Errorf("%s: chose %q (%s), want %q", row.name, got, v.Reason, row.want)
			}
			slices.Reverse(row.list) // the answer must not depend on the order
		}
	}
}

// Three candidates, any order: what cannot be told between two of them must not be decided by who is asked first.
func TestTheOrderOfTheCandidatesDecidesNothing(t *testing.T) {
	values := []Candidate{}
	for _, armed := range []bool{true, false} {
		for _, epoch := range []core.LeaderEpoch{5, 6} {
			for _, gatedIn := range []core.LeaderEpoch{core.NoEpoch, 6} {
				for _, floor := range []core.Offset{core.Unknown, 10, 20} {
					values = append(values, Candidate{Armed: armed, Adopted: epoch, GatedIn: gatedIn, Floor: floor, LogEnd: floor})
				}
			}
		}
	}
	chosen := func(list []Candidate) map[Candidate]bool {
		best := map[Candidate]bool{}
		for _, i := range Choose(list).Best {
			best[list[i]] = true
		}
		return best
	}
	for _, a := range values {
		for _, b := range values {
			for _, c := range values {
				first := chosen([]Candidate{a, b, c})
				for _, list := range [][]Candidate{{b, c, a}, {c, a, b}, {c, b, a}, {b, a, c}, {a, c, b}} {
					if got := chosen(list); !maps.Equal(got, first) {
						t.Fatalf("%+v: best are %v, in another order %v", list, got, first)
					}
				}
			}
		}
	}
}
