package suites

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheRunnersTableAndSummaryAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "test.c")
	const table = `struct test tests[] = {
    {.name = "<MAIN>", .flags = TEST_F_LOCAL},
    _TEST(0000_unittests,
          TEST_F_LOCAL,
          _THRES(.ucpu = 100.0)),
    _TEST(0001_multiobj, 0),
    _TEST(0022_consume_batch, 0),
    _TEST(0022_consume_batch_local, TEST_F_LOCAL),
    _TEST(0103_transactions, 0, TEST_BRKVER(0, 11, 0, 0), .scenario = "default,ak23"),
#if WITH_SOCKEM
    _TEST(0107_topic_recreate,
          0,
          .scenario = "noautocreate"),
#endif
    _TEST(8000_idle, TEST_F_MANUAL),
    {NULL}};
_TEST(9999_elsewhere, 0)`
	if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string][]string{"default": {"0001", "0022", "0103"}, "noautocreate": {"0107"}} {
		if got, err := rdTests(file, scenario); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v", scenario, got, err)
		}
	}
	for line, want := range map[string]Case{
		"|\x1b[32m 0004_conf                                |     PASSED |   0.009s \x1b[0m|":                      {Name: "0004_conf", Outcome: Passed, Seconds: 0.009},
		"|\x1b[31m 0011_produce_batch                       |     FAILED |  12.500s \x1b[0m|\x1b[31m wrong\x1b[0m": {Name: "0011_produce_batch", Outcome: Failed, Text: "wrong", Seconds: 12.5},
		"|\x1b[36m 0109_auto                                |    SKIPPED |   0.000s \x1b[0m|\x1b[36m too old":      {Name: "0109_auto", Outcome: Skipped, Text: "too old"},
	} {
		if got, ok := rdCase(line); !ok || got != want {
			t.Errorf("%q: got %+v", line, got)
		}
	}
	if local, _ := rdCase("| 0004_conf | SKIPPED | 0.000s | Filtered due to negative test flags"); !rdOther(local) {
		t.Error("a local test counts as one that was skipped")
	}
	if _, ok := rdCase("| <MAIN>          |     PASSED |   0.201s |"); ok {
		t.Error("the whole run was taken for a test")
	}
}
