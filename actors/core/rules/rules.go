//go:build mutants

// Package rules switches single rules off, so that a test can be shown to fail without them. It exists
// only under the build tag mutants; in the product every rule is a constant.
package rules

import (
	"os"
	"strings"
)

// Kept reports whether the rule stays on. name is "<ruling> <constant>", as in "R4 requireMirrorTerm";
// LOCKSTEP_RULE_OFF holds the constant's name of the one rule that is off.
func Kept(name string) bool {
	_, constant, _ := strings.Cut(name, " ")
	return constant != os.Getenv("LOCKSTEP_RULE_OFF")
}
