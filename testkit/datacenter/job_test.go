package datacenter

import (
	"os"
	"strings"
	"testing"
)

func TestAJobRunsToItsFirstFatalAndCleansUp(t *testing.T) {
	var order []string
	dir := ""
	err := Do("test", func(j *Job) {
		dir = j.TempDir()
		j.Cleanup(func() { order = append(order, "first") })
		j.Cleanup(func() { order = append(order, "second"); j.Errorf("of a cleanup") })
		j.Errorf("goes %s", "on")
		j.Fatal("ends")
		order = append(order, "never")
	})
	defer os.RemoveAll(dir)
	if err == nil || !strings.Contains(err.Error(), "goes on\nends\nof a cleanup") || strings.Join(order, " ") != "second first" {
		t.Errorf("%v, %v", err, order)
	}
	if _, gone := os.Stat(dir); gone != nil {
		t.Errorf("the data of a failed job: %v", gone)
	}
	if err := Do("test", func(j *Job) { dir = j.TempDir() }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data of a job that went well: %v", err)
	}
}
