package datacenter

import (
	"errors"
	"os/exec"
)

// Clusterctl runs the tool and returns what it printed on both streams, and its exit code.
func Clusterctl(t T, args ...string) (string, int) {
	t.Helper()
	return Command(t, Products(t).Clusterctl, args...)
}

// Command runs a program to its end; it fails the test only when it cannot be run at all.
func Command(t T, name string, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(out), 0
	case errors.As(err, &exit):
		return string(out), exit.ExitCode()
	default:
		t.Fatalf("run %v: %v", cmd.Args, err)
		return "", 0
	}
}
