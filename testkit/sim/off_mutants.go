//go:build mutants

package sim

import (
	"fmt"
	"os"
	"os/exec"
)

// withRuleOff starts this program again with the rule off, since switches are read once, at the start. again is
// true when that was done.
func withRuleOff(name string) (again bool, err error) {
	if name == "" || os.Getenv("LOCKSTEP_RULE_OFF") == name {
		return false, nil
	}
	self, err := os.Executable()
	if err != nil {
		return true, fmt.Errorf("start again without rule %s: %w", name, err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), "LOCKSTEP_RULE_OFF="+name)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return true, fmt.Errorf("without rule %s: %w", name, err)
	}
	return true, nil
}
