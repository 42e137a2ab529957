package partition

import (
	"testing"

	"lockstep/testkit/laws"
)

func FuzzCodec(f *testing.F) { laws.Codec(f, Machine(), "orders/0/broker-1") }
