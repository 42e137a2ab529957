package controller

import (
	"fmt"
	"strings"
)

// reserved names belong to internal topics of Kafka that do not exist here; a client that made one
// would find tools that trust it to be something else (A07).
var reserved = map[string]bool{
	"__cluster_metadata": true, "__consumer_offsets": true, "__transaction_state": true,
	"__share_group_state": true, "__mirror_state": true,
}

const maxNameLength = 249

// nameProblem is Kafka's rule for topic names, "" when name is legal.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "the topic name is empty; use 1 to 249 of the characters a-z A-Z 0-9 . _ -"
	case name == "." || name == "..":
		return fmt.Sprintf("topic name %q would be a directory; choose another", name)
	case len(name) > maxNameLength:
		return fmt.Sprintf("topic name %q… has %d characters; 249 is the most", name[:32], len(name))
	case reserved[name]:
		return fmt.Sprintf("topic name %q is kept for an internal topic of Kafka; choose another", name)
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return fmt.Sprintf("topic name %q contains %q; use a-z A-Z 0-9 . _ -", name, r)
		}
	}
	return ""
}

// collision finds another topic whose name differs only in . and _: metric names cannot tell the two
// apart, so Kafka refuses the second (A07).
func (s *State) collision(name string) (string, bool) {
	if !strings.ContainsAny(name, "._") {
		return "", false
	}
	folded := strings.ReplaceAll(name, ".", "_")
	for other := range s.names {
		if other != name && len(other) == len(name) && strings.ReplaceAll(other, ".", "_") == folded {
			return other, true
		}
	}
	return "", false
}
