//go:build !mutants

package sim

import "errors"

// withRuleOff cannot switch a constant off.
func withRuleOff(name string) (again bool, err error) {
	if name == "" {
		return false, nil
	}
	return false, errors.New("--off needs rules that can be switched off: go run -tags mutants ./testkit sim …")
}
