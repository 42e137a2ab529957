package datacenter

import (
	"errors"
	"os/exec"
)

// Clusterctl runs the tool and returns what it printed on both streams, and its exit code.
func Clusterctl(t T, args ...string) (string, int) {
	t.Helper()
	return run(t, exec.CommandContext(t.Context(), Products(t).Clusterctl, args...))
}

func run(t T, cmd *exec.Cmd) (string, int) {
	t.Helper()
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
