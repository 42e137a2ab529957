//go:build !mutants

package pattern

const boundPatterns = true // I61: what a pattern costs follows from its bytes
