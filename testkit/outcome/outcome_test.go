package outcome

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAReportGoesWhereItsFlagSays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.json")
	if err := Write(file, map[string]int{"acked": 3}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "{\n  \"acked\": 3\n}\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if err := Write("", make(chan int)); err != nil {
		t.Errorf("no report was asked for: %v", err)
	}
	for to, v := range map[string]any{file: make(chan int), filepath.Join(file, "below"): 1} {
		if err := Write(to, v); err == nil || !strings.Contains(err.Error(), "write the report") {
			t.Errorf("%v to %s: %v", v, to, err)
		}
	}
}
