// Package pattern compiles the patterns that clients and operators give for names of topics and ids: RE2, matched with a
// name as a whole.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MaxSteps is how large a pattern may be once its repetitions are written out. Matching takes time of that size for each
// character of each name, on the goroutine of whoever must decide: seven bytes like x{1000} buy a thousand steps.
const MaxSteps = 2048

// Compile makes a pattern that matches whole texts. One that is not well-formed, or has more than MaxSteps, is an error
// for whoever sent it.
func Compile(text string) (*regexp.Regexp, error) {
	if boundPatterns && len(text) > MaxSteps {
		return nil, fmt.Errorf("the pattern has %d bytes, at most %d are taken: name the topics, or use several patterns", len(text), MaxSteps)
	}
	tree, err := syntax.Parse(text, syntax.Perl) // alone: a parenthesis must not close ours
	if err != nil {
		return nil, err
	}
	if n := steps(tree); boundPatterns && n > MaxSteps {
		return nil, fmt.Errorf("the pattern has more than %d steps with its repetitions written out: repeat fewer times", MaxSteps)
	}
	return regexp.Compile(`\A(?:` + text + `)\z`)
}

// steps is about the number of instructions that a pattern is compiled to, at most a little over MaxSteps.
func steps(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		n = 0
	default: // a class of characters is one step, as are the others
	}
	for _, sub := range re.Sub {
		if n += steps(sub); n > MaxSteps {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n = max(n, 1) * max(re.Min, re.Max, 1)
	}
	return n
}
