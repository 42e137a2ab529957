package assignor

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lockstep/actors/core"
)

func topic(n int) core.TopicID { return core.TopicID{byte(n), 1} }

func everyTopic(n int) (list []core.TopicID) {
	for i := range n {
		list = append(list, topic(i))
	}
	return list
}

// check: each partition of a subscribed topic is with exactly one member, who subscribes to it.
func check(t *testing.T, members []Member, counts map[core.TopicID]int32, target map[string]Partitions) {
	t.Helper()
	seen := Partitions{}
	for _, m := range members {
		mine, listed := target[m.ID]
		if !listed {
			t.Fatalf("%s has no entry", m.ID)
		}
		subscribed := map[core.TopicID]bool{}
		for _, id := range m.Topics {
			subscribed[id] = true
		}
		for id, list := range mine {
			for i, p := range list {
				if !subscribed[id] || p < 0 || p >= counts[id] || i > 0 && list[i-1] >= p {
					t.Fatalf("%s has %v of %d partitions, subscribed %v", m.ID, list, counts[id], subscribed[id])
				}
			}
		}
		if seen.Meets(mine) {
			t.Fatalf("%s has what another has: %v", m.ID, mine)
		}
		seen = seen.Or(mine)
	}
	want := 0
	for id := range subscribers(members, counts) {
		want += int(counts[id])
	}
	if seen.Len() != want || len(target) != len(members) {
		t.Fatalf("%d of %d partitions are assigned, to %d of %d members", seen.Len(), want, len(target), len(members))
	}
}

func group(n, topics int) (members []Member) {
	for i := range n {
		members = append(members, Member{ID: fmt.Sprint("m", i), Topics: everyTopic(topics)})
	}
	return members
}

func TestRangeGivesRuns(t *testing.T) {
	counts := map[core.TopicID]int32{topic(0): 7, topic(1): 7, topic(2): 2}
	members := group(3, 3)
	instance := "a"
	members[2].Instance = &instance
	target := Range(members, counts)
	check(t, members, counts, target)
	for id, want := range map[string]string{"m2": "[0 1 2] [0 1 2] [0]", "m0": "[3 4] [3 4] [1]", "m1": "[5 6] [5 6] []"} {
		if got := fmt.Sprint(target[id][topic(0)], target[id][topic(1)], target[id][topic(2)]); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// A random group lives through members and partitions that come and go: every target is complete and balanced, and
// nothing moves that need not.
func TestUniformIsBalancedAndSticky(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		counts := map[core.TopicID]int32{}
		topics := 1 + r.IntN(5)
		for i := range topics {
			counts[topic(i)] = int32(r.IntN(9))
		}
		members := group(1+r.IntN(6), topics)
		same := seed%2 == 0
		for round := range 8 {
			switch r.IntN(4) {
			case 0:
				members = append(members, Member{ID: fmt.Sprint("n", round), Topics: everyTopic(topics)})
			case 1:
				if i := r.IntN(len(members)); len(members) > 1 {
					members = append(members[:i:i], members[i+1:]...)
				}
			case 2:
				counts[topic(r.IntN(topics))]++
			default:
				if i := r.IntN(len(members)); !same {
					members[i].Topics = everyTopic(1 + r.IntN(topics))
				}
			}
			target := Uniform(members, counts)
			check(t, members, counts, target)
			for _, a := range members {
				for _, b := range members {
					for id := range target[a.ID] {
						if takes(b, id) && target[a.ID].Len()-target[b.ID].Len() > 1 {
							t.Fatalf("seed %d: %s has %d partitions, %s has %d and could take one", seed, a.ID, target[a.ID].Len(), b.ID, target[b.ID].Len())
						}
					}
				}
			}
			for i := range members {
				members[i].Current = target[members[i].ID]
			}
			if again := Uniform(members, counts); !equal(again, target) {
				t.Fatalf("seed %d: the same group asked again has another target:\n%v\n%v", seed, target, again)
			}
		}
	}
}

func takes(m Member, id core.TopicID) bool {
	for _, have := range m.Topics {
		if have == id {
			return true
		}
	}
	return false
}

func equal(a, b map[string]Partitions) bool {
	for id, p := range a {
		if !p.Equal(b[id]) {
			return false
		}
	}
	return len(a) == len(b)
}

// One member more among n takes its share and nothing else moves; one that goes leaves the others what they have.
func TestUniformMovesAsFewAsItCan(t *testing.T) {
	counts := map[core.TopicID]int32{topic(0): 100, topic(1): 37}
	members := group(4, 2)
	before := Uniform(members, counts)
	for i := range members {
		members[i].Current = before[members[i].ID]
	}
	more := append(members[:4:4], Member{ID: "new", Topics: everyTopic(2)})
	after := Uniform(more, counts)
	moved := 0
	for id, p := range before {
		moved += p.Without(after[id]).Len()
	}
	if moved != 27 || after["new"].Len() != 27 {
		t.Errorf("%d partitions moved, the new member has %d; its share is 27", moved, after["new"].Len())
	}
	after = Uniform(members[1:], counts)
	for _, m := range members[1:] {
		if !m.Current.Within(after[m.ID]) {
			t.Errorf("%s lost %v", m.ID, m.Current.Without(after[m.ID]))
		}
	}
}

func TestSets(t *testing.T) {
	a := SetOf(map[core.TopicID][]int32{topic(0): {3, 1, 1}, topic(1): {}})
	b := SetOf(map[core.TopicID][]int32{topic(0): {1, 2}, topic(2): {0}})
	for what, got := range map[string]string{
		"[1 3] 2 true":    fmt.Sprint(a[topic(0)], a.Len(), a.Meets(b)),
		"[1] [3] [1 2 3]": fmt.Sprint(a.And(b)[topic(0)], a.Without(b)[topic(0)], a.Or(b)[topic(0)]),
		"true false":      fmt.Sprint(a.And(b).Within(b), b.Within(a)),
		"true false [0]":  fmt.Sprint(a.Or(b).Equal(b.Or(a)), a.Equal(b), a.Or(b)[topic(2)]),
	} {
		if got != what {
			t.Errorf("%s, want %s", got, what)
		}
	}
	if a[topic(1)] != nil || len(a[topic(0)]) != 2 {
		t.Errorf("%v was changed, or has empty lists", a)
	}
}

func BenchmarkUniform(b *testing.B) {
	counts := map[core.TopicID]int32{}
	for i := range 100 {
		counts[topic(i)] = 100
	}
	members := group(500, 100)
	target := Uniform(members, counts)
	for i := range members {
		members[i].Current = target[members[i].ID]
	}
	members = append(members, Member{ID: "new", Topics: everyTopic(100)})
	for b.Loop() {
		Uniform(members, counts)
	}
}
