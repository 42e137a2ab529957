package binaries

import (
	"os"
	"testing"
)

// A job removes what it ran, and the next one of the same command starts clusters again.
func TestWhatWasRemovedIsBuiltAgain(t *testing.T) {
	defer Remove()
	for range 2 {
		p, err := Build()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Build()
		if err != nil || again != p {
			t.Fatalf("built twice: %v, %v", again, err)
		}
		if _, err := os.Stat(p.Clusterd); err != nil {
			t.Fatal(err)
		}
		Remove()
		if _, err := os.Stat(p.Clusterd); err == nil {
			t.Fatalf("%s is still there", p.Clusterd)
		}
	}
}
