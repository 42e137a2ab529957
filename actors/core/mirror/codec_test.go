package mirror

import (
	"testing"

	"lockstep/testkit/laws"
)

func FuzzCodec(f *testing.F) { laws.Codec(f, Machine(), "id") }
