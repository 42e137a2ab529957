package faults

import (
	"slices"
)

// situation is what may hold an acknowledgement now. It is known from what the run itself does, not from what any
// cluster says.
type situation struct {
	fault string
	// hit mirrors may be behind, so that a refusal may name them. All others are well, and naming one is a lie.
	hit []string
	// under: hit mirrors that may have fewer replicas than they need.
	under []string
	// deaf mirrors gate and cannot have anything that is sent from now on, or cannot say so: nothing may be acknowledged.
	deaf []string
	// free mirrors were released or are ASYNC: they hold nothing, whatever happens to them.
	free []string
	// source: its leaders move or its process stops. Connections end, in-sync replicas are missing, and each new leader
	// has to hear of every mirror anew.
	source bool
}

func (s *situation) hits(mirrors ...string) {
	for _, m := range mirrors {
		if !slices.Contains(s.hit, m) {
			s.hit = append(s.hit, m)
		}
	}
}

func (s *situation) unders(mirrors ...string) {
	s.hits(mirrors...)
	s.under = append(s.under, mirrors...)
}

// deafens says that these can confirm nothing new, but those that are free.
func (s *situation) deafens(mirrors ...string) {
	s.hits(mirrors...)
	for _, m := range mirrors {
		if !slices.Contains(s.free, m) {
			s.deaf = append(s.deaf, m)
		}
	}
}

// hears ends what deafens began. What is behind is behind for a while.
func (s *situation) hears() { s.deaf = nil }

func (s *situation) moves(mirrors []string) {
	s.source = true
	s.hits(mirrors...)
}

// frees takes a mirror's vote away: nobody may name it until it is bound again.
func (s *situation) frees(m string) {
	not := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(each string) bool { return each == m })
	}
	s.hit, s.under, s.deaf = not(s.hit), not(s.under), not(s.deaf)
	s.free = append(s.free, m)
}

// binds gives it back.
func (s *situation) binds(m string) {
	s.free = slices.DeleteFunc(slices.Clone(s.free), func(each string) bool { return each == m })
	s.hits(m)
}
