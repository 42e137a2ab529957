package pair

import (
	"os"
	"testing"

	"lockstep/testkit/binaries"
)

func TestMain(m *testing.M) {
	code := m.Run()
	binaries.Remove()
	os.Exit(code)
}
