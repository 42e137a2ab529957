// Package binaries builds the two products once per process, without cgo, for tests that run them.
package binaries

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Paths of the products.
type Paths struct{ Clusterd, Clusterctl string }

var (
	mu    sync.Mutex
	built *Paths // nil: not yet, or removed since
)

// Build returns the binaries, building them on the first call and on the first one after Remove. Callable from any goroutine.
func Build() (Paths, error) {
	mu.Lock()
	defer mu.Unlock()
	if built != nil {
		return *built, nil
	}
	root, err := Root()
	if err != nil {
		return Paths{}, err
	}
	dir, err := os.MkdirTemp("", "lockstep-bin-")
	if err != nil {
		return Paths{}, fmt.Errorf("make directory for binaries: %w", err)
	}
	p := Paths{filepath.Join(dir, "clusterd"), filepath.Join(dir, "clusterctl")}
	for out, pkg := range map[string]string{p.Clusterd: "./clusterd", p.Clusterctl: "./cli"} {
		cmd := exec.Command("go", "build", "-o", out, pkg)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			_ = os.RemoveAll(dir)
			return Paths{}, fmt.Errorf("build %s: %w\n%s", pkg, err, text)
		}
	}
	built = &p
	return p, nil
}

// Root is the directory that holds go.mod, found from the working directory upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the working directory: run this inside the checkout")
		}
		dir = up
	}
}

// Remove deletes what Build made, if it was called: at the end of a TestMain, or of a job that may be followed by another.
func Remove() {
	mu.Lock()
	defer mu.Unlock()
	if built != nil {
		_ = os.RemoveAll(filepath.Dir(built.Clusterd))
		built = nil
	}
}
