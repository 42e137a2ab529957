package fuzz

import (
	"slices"
	"testing"

	"lockstep/testkit/binaries"
)

func TestTargetsOfTheTreeAreFound(t *testing.T) {
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Target{{"protocol", "FuzzRequest"}, {"protocol/batch", "FuzzStored"}, {"actors/core/group", "FuzzCodec"}} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not among %v", want, all)
		}
	}
}

func TestProgressIsReadAndTheRestIsKept(t *testing.T) {
	var r result
	for _, line := range []string{
		"fuzz: elapsed: 3s, gathering baseline coverage: 250/1394 completed",
		"fuzz: elapsed: 15s, execs: 10428 (3396/sec), new interesting: 11 (total: 251)",
		"fuzz: elapsed: 18s, execs: 23696 (4414/sec), new interesting: 15 (total: 255)",
	} {
		if !r.take(line) {
			t.Errorf("%q is not progress", line)
		}
	}
	if r.take("--- FAIL: FuzzRequest (0.02s)") || r.Executions != 23696 || r.Interesting != 255 || !slices.Equal(r.other, []string{"--- FAIL: FuzzRequest (0.02s)"}) {
		t.Errorf("%+v", r)
	}
}
