package front

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"lockstep/actors/core/pattern"
)

// patterns caches compiled patterns: mirrors have few, and they are matched for every unknown name. Requests bring
// others, so it is emptied when it is full.
var patterns = struct {
	sync.Mutex
	compiled map[string]*regexp.Regexp // nil for one that does not compile
}{compiled: map[string]*regexp.Regexp{}}

const maxCompiled = 256

// maxPatterns is how many patterns one request may have: each is matched with every name, and a mirror keeps them.
const maxPatterns = 1000

// checkPatterns says why a request's patterns are not taken, "" if they are.
func checkPatterns(lists ...[]string) string {
	all := slices.Concat(lists...)
	if len(all) > maxPatterns {
		return fmt.Sprintf("%d patterns in one request; at most %d are taken: let one pattern name several topics", len(all), maxPatterns)
	}
	for _, p := range all {
		if _, err := pattern.Compile(p); err != nil {
			return fmt.Sprintf("pattern %.100q is not taken: %v", p, err)
		}
	}
	return ""
}

// matchesAny reports whether a topic name matches one of the patterns as a whole. A pattern is a name or
// a regular expression; one that does not compile matches only its own spelling.
func matchesAny(list []string, name string) bool {
	for _, p := range list {
		if p == name {
			return true
		}
		if re := compiled(p); re != nil && re.MatchString(name) {
			return true
		}
	}
	return false
}

func compiled(p string) *regexp.Regexp {
	patterns.Lock()
	defer patterns.Unlock()
	re, known := patterns.compiled[p]
	if known {
		return re
	}
	re, err := pattern.Compile(p)
	if err != nil {
		re = nil
	}
	if len(patterns.compiled) >= maxCompiled {
		clear(patterns.compiled)
	}
	patterns.compiled[p] = re
	return re
}
