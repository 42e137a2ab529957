// Package jvm fetches Java artifacts with Maven, compiles small programs against them and runs them, for proofs that need
// what only Java has.
package jvm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lockstep/testkit/fetched"
)

// Home is a directory with the artifacts of one pom.xml, and with the classes compiled against them. It is kept between
// runs.
type Home string

// At is the home of a name, beside what else is fetched.
func At(name string) (Home, error) {
	dir, err := fetched.Dir(name)
	return Home(dir), err
}

// Install has Maven copy what pom names, unless that very pom was installed before.
func (h Home) Install(ctx context.Context, pom []byte) error {
	mark := h.path("installed.xml")
	if was, err := os.ReadFile(mark); err == nil && bytes.Equal(was, pom) {
		return nil
	}
	for _, stale := range []string{"lib", "installed.xml"} {
		if err := os.RemoveAll(h.path(stale)); err != nil {
			return fmt.Errorf("remove older artifacts: %w", err)
		}
	}
	if err := os.MkdirAll(string(h), 0o755); err != nil {
		return fmt.Errorf("make %s: %w", h, err)
	}
	if err := os.WriteFile(h.path("pom.xml"), pom, 0o644); err != nil {
		return fmt.Errorf("write pom.xml: %w", err)
	}
	if err := h.complete(ctx, "mvn", "-q", "-B", "-f", h.path("pom.xml"), "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+h.path("lib")); err != nil {
		return err
	}
	if err := os.WriteFile(mark, pom, 0o644); err != nil {
		return fmt.Errorf("mark artifacts as whole: %w", err)
	}
	return nil
}

// Compile makes the classes of one source file, named as its public class is.
func (h Home) Compile(ctx context.Context, name string, source []byte) error {
	file := h.path(name)
	if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, source) {
		if _, err := os.Stat(h.path("classes", strings.TrimSuffix(name, ".java")+".class")); err == nil {
			return nil
		}
	}
	if err := os.WriteFile(file, source, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return h.complete(ctx, "javac", "-cp", h.path("lib", "*"), "-d", h.path("classes"), file)
}

// Args are a command line that runs a class of the home.
func (h Home) Args(class string, args ...string) []string {
	return append([]string{"java", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-cp", h.path("classes") + string(os.PathListSeparator) + h.path("lib", "*"), class}, args...)
}

func (h Home) path(parts ...string) string {
	return filepath.Join(append([]string{string(h)}, parts...)...)
}

// complete runs a program to its end; what it complained about is in the error.
func (h Home) complete(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", args[0], err, out[max(0, len(out)-2000):])
	}
	return nil
}
