package fuzz

import (
	"errors"
	"slices"
	"strings"
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

func TestTheEndOfTheTimeIsNoFinding(t *testing.T) {
	for text, found := range map[string]bool{
		"--- FAIL: FuzzBus (8.12s)|    context deadline exceeded|FAIL":                                                                                      false,
		"--- FAIL: FuzzBus (8.12s)|    --- FAIL: FuzzBus (0.00s)|        ours_test.go:60: not stable|    Failing input written to testdata/fuzz/FuzzBus/8d": true,
		"--- FAIL: FuzzBus/seed#3 (8.12s)|    ours_test.go:60: 9 bytes are allocated":                                                                       true,
		"": true,
	} {
		var r result
		for line := range strings.SplitSeq(text, "|") {
			if line != "" {
				r.take(line)
			}
		}
		if r.failed(errors.New("exit status 1")); (r.Found != "") != found {
			t.Errorf("%q: found %q", text, r.Found)
		}
	}
}
