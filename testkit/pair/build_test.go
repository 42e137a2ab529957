package pair

import (
	"os"
	"testing"

	"lockstep/testkit/binaries"
)

func build(t *testing.T) binaries.Paths {
	if p := os.Getenv("PAIR_CLUSTERD"); p != "" {
		return binaries.Paths{Clusterd: p}
	}
	bin, err := binaries.Build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
