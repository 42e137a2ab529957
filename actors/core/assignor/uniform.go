package assignor

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"lockstep/actors/core"
)

// Uniform spreads partitions evenly over those who may have them and moves as few as that takes: what a member has
// stays, what nobody has goes to whoever has least, and then partitions move from those with more to those with less
// until no topic has two subscribers whose loads differ by more than one partition that could move.
func Uniform(members []Member, counts map[core.TopicID]int32) map[string]Partitions {
	u := &uniform{members: inOrder(members), counts: counts}
	u.who = subscribers(u.members, counts)
	u.load = make([]int, len(u.members))
	u.keep()
	u.fill()
	for u.balance() {
	}
	return u.target()
}

type uniform struct {
	members []Member
	counts  map[core.TopicID]int32
	who     map[core.TopicID][]int
	owner   map[core.TopicID][]int // by partition; -1: nobody yet
	load    []int                  // partitions of each member
}

const nobody = -1

// topics in one order for all who decide: fewest subscribers first, because they have the least choice.
func (u *uniform) topics() []core.TopicID {
	return slices.SortedFunc(maps.Keys(u.who), func(a, b core.TopicID) int {
		return cmp.Or(cmp.Compare(len(u.who[a]), len(u.who[b])), bytes.Compare(a[:], b[:]))
	})
}

func (u *uniform) keep() {
	u.owner = map[core.TopicID][]int{}
	for t, who := range u.who {
		owner := slices.Repeat([]int{nobody}, int(u.counts[t]))
		for _, i := range who {
			for _, p := range u.members[i].Current[t] {
				if int(p) < len(owner) && owner[p] == nobody {
					owner[p] = i
					u.load[i]++
				}
			}
		}
		u.owner[t] = owner
	}
}

func (u *uniform) fill() {
	for _, t := range u.topics() {
		for p, i := range u.owner[t] {
			if i == nobody {
				i = slices.MinFunc(u.who[t], u.byLoad)
				u.owner[t][p] = i
				u.load[i]++
			}
		}
	}
}

func (u *uniform) byLoad(a, b int) int { return cmp.Compare(u.load[a], u.load[b]) }

// balance makes one pass over all topics and says whether anything moved. Each move makes the sum of the squares of the
// loads smaller, so it ends.
func (u *uniform) balance() (moved bool) {
	for _, t := range u.topics() {
		owner := u.owner[t]
		has := map[int][]int{} // member: its partitions of the topic
		for p, i := range owner {
			has[i] = append(has[i], p)
		}
		for {
			least := slices.MinFunc(u.who[t], u.byLoad)
			most := nobody
			for _, i := range u.who[t] {
				if len(has[i]) > 0 && (most == nobody || u.load[i] > u.load[most]) {
					most = i
				}
			}
			if most == nobody || u.load[most]-u.load[least] < 2 {
				break
			}
			p := has[most][len(has[most])-1] // the last: what a member has from its beginning stays longest
			has[most] = has[most][:len(has[most])-1]
			has[least] = append(has[least], p)
			owner[p] = least
			u.load[most]--
			u.load[least]++
			moved = true
		}
	}
	return moved
}

func (u *uniform) target() map[string]Partitions {
	target := map[string]Partitions{}
	for _, m := range u.members {
		target[m.ID] = Partitions{}
	}
	for t, owner := range u.owner {
		for p, i := range owner {
			own := target[u.members[i].ID]
			own[t] = append(own[t], int32(p))
		}
	}
	return target
}
