package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Generating anew changes nothing, twice, and every generated file has a schema behind it.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	fresh := t.TempDir()
	if err := os.CopyFS(filepath.Join(fresh, "protocol/schemas"), os.DirFS(filepath.Join(root, "protocol/schemas"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"protocol/messages", "protocol/records", "protocol/perr"} {
		mkdir(t, fresh, dir)
	}
	for machine := range idBlocks {
		mkdir(t, fresh, "actors/core/"+machine)
	}
	if err := generate(fresh, nil); err != nil {
		t.Fatal(err)
	}
	made := generated(t, fresh)
	for name, want := range made {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go run ./protocol/gen", name)
		}
	}
	for name := range generated(t, root) {
		if made[name] == nil {
			t.Errorf("%s is generated from no schema", name)
		}
	}
	if err := generate(fresh, nil); err != nil {
		t.Fatal(err)
	}
	for name, again := range generated(t, fresh) {
		if !bytes.Equal(again, made[name]) {
			t.Errorf("%s differs between two runs", name)
		}
	}
}

func mkdir(t *testing.T, root, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
		t.Fatal(err)
	}
}

func generated(t *testing.T, root string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, top := range []string{"protocol", "actors/core"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_gen.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err == nil {
				out[name], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A schema that is wrong says where and why.
func TestAWrongSchemaIsRefusedPrecisely(t *testing.T) {
	event := func(fields string) string {
		return `[{"type":"event","id":200,"name":"Happened","validVersions":"0","fields":[` + fields + `]}]`
	}
	cases := []struct{ name, json, want string }{
		{"unknown key", `[{"type":"event","id":200,"name":"A","valid":"0"}]`, `unknown field "valid"`},
		{"two values", event("") + "{}", "follows"},
		{"no id", `[{"type":"event","name":"A","validVersions":"0"}]`, "an id is required"},
		{"id of another machine", `[{"type":"event","id":100,"name":"A","validVersions":"0"}]`, "outside the block 200-229 of registration"},
		{"id twice", `[{"type":"event","id":200,"name":"A","validVersions":"0"},{"type":"event","id":200,"name":"B","validVersions":"0"}]`, "is already registration.A"},
		{"name twice", `[{"type":"event","id":200,"name":"A","validVersions":"0"},{"type":"event","id":201,"name":"A","validVersions":"0"}]`, "made twice"},
		{"kind", `[{"type":"evnt","id":200,"name":"A","validVersions":"0"}]`, "unknown type"},
		{"name", `[{"type":"event","id":200,"name":"a","validVersions":"0"}]`, "capital letter"},
		{"versions", `[{"type":"event","id":200,"name":"A","validVersions":"3-1"}]`, "validVersions"},
		{"versions without end", `[{"type":"event","id":200,"name":"A","validVersions":"0+"}]`, "must have an end"},
		{"not flexible", `[{"type":"event","id":200,"name":"A","validVersions":"0","flexibleVersions":"1+"}]`, "is flexible"},
		{"type of a field", event(`{"name":"F","type":"int"}`), "Happened.F: unknown type int"},
		{"no type", event(`{"name":"F"}`), "F: a type is required"},
		{"field twice", event(`{"name":"F","type":"int8"},{"name":"F","type":"int8"}`), "F: named twice"},
		{"entity", event(`{"name":"F","type":"int64","entityType":"ofset"}`), `unknown entityType "ofset"`},
		{"entity of another type", event(`{"name":"F","type":"int32","entityType":"offset"}`), "offset is a int64, not a int32"},
		{"default", event(`{"name":"F","type":"int8","default":"300"}`), "Happened.F"},
		{"default of bool", event(`{"name":"F","type":"bool","default":"maybe"}`), `default "maybe" does not fit`},
		{"null number", event(`{"name":"F","type":"int8","nullableVersions":"0+"}`), "cannot be null"},
		{"null default", event(`{"name":"F","type":"string","default":"null"}`), "needs nullableVersions"},
		{"tag without versions", event(`{"name":"F","type":"int8","tag":1}`), "go together"},
		{"tag twice", event(`{"name":"F","type":"int8","tag":1,"taggedVersions":"0+"},{"name":"G","type":"int8","tag":1,"taggedVersions":"0+"}`), "tag 1 is used twice"},
		{"versions of a field", event(`{"name":"F","type":"int8","versions":"5+"}`), "never meet"},
		{"fields of a scalar", event(`{"name":"F","type":"int8","fields":[{"name":"G","type":"int8"}]}`), "has no fields"},
		{"nested", event(`{"name":"F","type":"[]X","fields":[{"name":"G","type":"what"}]}`), "HappenedX.G: unknown type what"},
	}
	for _, c := range cases {
		root := t.TempDir()
		mkdir(t, root, "protocol/schemas/journal")
		mkdir(t, root, "actors/core/registration")
		if err := os.WriteFile(filepath.Join(root, "protocol/schemas/journal/registration.json"), []byte(c.json), 0o644); err != nil {
			t.Fatal(err)
		}
		err := generate(root, []string{"journal/registration"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "registration.json") {
			t.Errorf("%s: %v, want something with %q and the file's name", c.name, err, c.want)
		}
	}
	if err := generate(t.TempDir(), []string{"jornal"}); err == nil || !strings.Contains(err.Error(), "jornal") {
		t.Errorf("unknown part: %v", err)
	}
}

func TestVersionRangesBecomeTheShortestCondition(t *testing.T) {
	context := span{4, 20, true}
	for text, want := range map[string]string{
		"0+": "", "4-20": "", "12+": "version >= 12", "0-12": "version <= 12", "13": "version == 13",
		"7-12": "version >= 7 && version <= 12", "none": "false", "21+": "false",
	} {
		s, err := parseSpan(text)
		if err != nil || s.cond(context) != want {
			t.Errorf("%q: %q %v, want %q", text, s.cond(context), err, want)
		}
	}
	for _, bad := range []string{"x", "1-", "-1", "3-2", "1+2"} {
		if _, err := parseSpan(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
