// Package tidy holds the house rules that a compiler does not know, as tests.
package tidy

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"lockstep/testkit/binaries"
)

// layer says what the packages under a prefix may import. The longest matching prefix decides.
type layer struct {
	under string
	// only, if set, lists the import prefixes that are allowed; "std" is the standard library.
	only []string
	// never lists import prefixes that are not, with what to use instead.
	never map[string]string
}

var impure = map[string]string{
	"math/rand":   "randomness is drawn by the caller and travels in the command",
	"crypto/rand": "randomness is drawn by the caller and travels in the command",
	"log":         "events are the log lines; the shell logs them",
	"context":     "cores never wait",
	"sync":        "a machine belongs to one actor",
	"net":         "IO is an effect",
	"os":          "IO is an effect",
}

// pure are packages that do nothing of what the one above them does.
var pure = map[string]bool{"net/netip": true} // addresses, and how they are written

var layers = []layer{
	{under: "lockstep/protocol", never: map[string]string{
		"lockstep/actors": "protocol knows nothing of ours above it", "lockstep/journal": "protocol knows nothing of ours above it",
		"lockstep/clusterd": "protocol knows nothing of ours above it", "lockstep/cli": "protocol knows nothing of ours above it",
	}},
	{under: "lockstep/actors/core", only: []string{"std", "lockstep/actors/core", "lockstep/protocol/wire", "lockstep/protocol/batch",
		"lockstep/protocol/perr", "lockstep/protocol/messages"}, never: impure},
	{under: "lockstep/journal", never: map[string]string{
		"lockstep/actors/shell": "entries are opaque bytes here", "lockstep/actors/broker": "entries are opaque bytes here",
		"lockstep/protocol": "entries are opaque bytes here", "lockstep/clusterd": "the daemon opens journals, not the other way round",
	}},
	{under: "lockstep/actors", never: map[string]string{"lockstep/clusterd": "the daemon wires actors, not the other way round"}},
	{under: "lockstep/cli", never: map[string]string{"lockstep/clusterd": "talk to a running daemon through protocol/client",
		"lockstep/actors/broker": "talk to a running daemon through protocol/client"}},
}

// owners lists libraries that only some packages may touch.
var owners = map[string][]string{
	"github.com/dgraph-io/badger": {"lockstep/journal/badger"},
	"github.com/nats-io":          {"lockstep/actors/bus"},
	"github.com/asynkron/protoactor-go": {"lockstep/actors/shell", "lockstep/actors/broker", "lockstep/actors/fetcher", "lockstep/actors/bus",
		"lockstep/clusterd/front", "lockstep/testkit/sim"},
}

type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Standard     bool
}

func list(t *testing.T) []pkg {
	t.Helper()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func within(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "lockstep"
}

func TestPackagesImportOnlyWhatTheirLayerAllows(t *testing.T) {
	for _, p := range list(t) {
		for _, imported := range p.Imports {
			check(t, p.ImportPath, imported)
		}
		for _, imported := range p.Imports {
			if within(imported, "lockstep/testkit") && !within(p.ImportPath, "lockstep/testkit") {
				t.Errorf("%s imports %s: nothing imports testkit outside tests", p.ImportPath, imported)
			}
		}
	}
}

func check(t *testing.T, importer, imported string) {
	t.Helper()
	var rule *layer
	for i, l := range layers {
		if within(importer, l.under) && (rule == nil || len(l.under) > len(rule.under)) {
			rule = &layers[i]
		}
	}
	if rule != nil {
		for prefix, instead := range rule.never {
			if within(imported, prefix) && !pure[imported] {
				t.Errorf("%s imports %s: %s", importer, imported, instead)
			}
		}
		if rule.only != nil && !slices.ContainsFunc(rule.only, func(prefix string) bool {
			return prefix == "std" && standard(imported) || within(imported, prefix)
		}) {
			t.Errorf("%s imports %s: packages under %s may import only %v", importer, imported, rule.under, rule.only)
		}
	}
	for library, allowed := range owners {
		if within(imported, library) && within(importer, "lockstep") && !within(importer, "lockstep/testkit") &&
			!slices.ContainsFunc(allowed, func(o string) bool { return within(importer, o) }) {
			t.Errorf("%s imports %s: only %v may", importer, imported, allowed)
		}
	}
}

func TestTheLayerTableNoticesAForbiddenImport(t *testing.T) {
	for _, bad := range [][2]string{
		{"lockstep/actors/core/highwater", "log/slog"},
		{"lockstep/actors/core/mirror", "lockstep/journal"},
		{"lockstep/protocol/batch", "lockstep/actors/core"},
		{"lockstep/journal/log", "github.com/dgraph-io/badger/v4"},
		{"lockstep/clusterd/front", "github.com/nats-io/nats.go"},
		{"lockstep/cli", "lockstep/clusterd/config"},
	} {
		var inner testing.T
		check(&inner, bad[0], bad[1])
		if !inner.Failed() {
			t.Errorf("%s may import %s, which the layers forbid", bad[0], bad[1])
		}
	}
}
