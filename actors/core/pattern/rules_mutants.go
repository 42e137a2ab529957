//go:build mutants

package pattern

import "lockstep/actors/core/rules"

var boundPatterns = rules.Kept("I61 boundPatterns")
