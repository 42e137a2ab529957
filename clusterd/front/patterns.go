package front

import (
	"regexp"
	"sync"
)

// patterns caches compiled patterns: mirrors have few, and they are matched for every unknown name.
var patterns sync.Map // string -> *regexp.Regexp, nil for one that does not compile

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
	if re, ok := patterns.Load(p); ok {
		return re.(*regexp.Regexp)
	}
	re, err := regexp.Compile("^(?:" + p + ")$")
	if err != nil {
		re = nil
	}
	patterns.Store(p, re)
	return re
}
