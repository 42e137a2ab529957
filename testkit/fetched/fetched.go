// Package fetched keeps what others publish between runs: clients, their test suites, the programs they need. It is
// brought by the clients of their registries, each with a fixed version, and never becomes part of the tree.
package fetched

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Dir is where the thing of that name is kept. It need not exist yet.
func Dir(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}
	return filepath.Join(cache, "lockstep-clients", name), nil
}

// Once calls make for a directory that it may fill, and moves it to dir when that succeeded, so that what is at dir is
// whole. Where dir exists nothing is done.
func Once(dir string, make func(dir string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	half := dir + ".half"
	if err := os.RemoveAll(half); err != nil {
		return fmt.Errorf("remove what an earlier run left: %w", err)
	}
	if err := os.Mkdir(half, 0o755); err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	if err := make(half); err != nil {
		return err
	}
	return os.Rename(half, dir)
}

// Venv puts a Python with the named releases into dir/venv and returns its interpreter; module is one that they bring.
func Venv(ctx context.Context, dir, module string, releases ...string) (python string, err error) {
	python = filepath.Join(dir, "venv", "bin", "python")
	if Run(ctx, "", "", python, "-c", "import "+module) == nil {
		return python, nil
	}
	if err := Run(ctx, "", "", "python3", "-m", "venv", filepath.Join(dir, "venv")); err != nil {
		return "", err
	}
	return python, Run(ctx, "", "", append([]string{python, "-m", "pip", "install", "-q"}, releases...)...)
}

// Module puts the source of a Go module into dir, tests and all. The module cache is not it: it is read-only, and tests
// may write beside their source.
func Module(ctx context.Context, dir, module, version string) error {
	return Once(dir, func(half string) error {
		cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
		cmd.Dir = os.TempDir() // of no module
		text, err := cmd.Output()
		var at struct{ Dir, Error string }
		if json.Unmarshal(text, &at) == nil && at.Error != "" {
			return fmt.Errorf("download %s@%s: %s", module, version, at.Error)
		}
		if err != nil {
			return fmt.Errorf("download %s@%s: %w", module, version, err)
		}
		if err := Run(ctx, "", "", "cp", "-r", at.Dir+"/.", half); err != nil {
			return err
		}
		return Run(ctx, "", "", "chmod", "-R", "u+w", half)
	})
}

// longest is how long a program may run that says nothing of its own end.
const longest = 20 * time.Minute

// Run executes a program with its standard streams at files, and puts what it complained about into the error. "" as a
// file is none.
func Run(ctx context.Context, stdout, stdin string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	Group(cmd)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if stdin != "" {
		in, err := os.Open(stdin)
		if err != nil {
			return err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	if stdout != "" {
		out, err := os.Create(stdout)
		if err != nil {
			return err
		}
		defer out.Close()
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		text := complaint.String()
		return fmt.Errorf("%s: %w\n%s", args[0], err, text[max(0, len(text)-2000):])
	}
	return nil
}

// Group makes the end of cmd's context end what it started, too: a test runner starts the test.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
}
