package decoding

import (
	"math/rand/v2"
	"testing"
)

var kept []byte

// tried tells whether a check fails, without failing itself.
type tried struct {
	testing.TB
	failed bool
}

func (*tried) Helper()                 {}
func (t *tried) Fatalf(string, ...any) { t.failed = true }

func TestMemoryThatTheBytesDoNotPayForIsNoticed(t *testing.T) {
	for _, c := range []struct {
		allocates, size int
		fails           bool
	}{{0, 0, false}, {90 << 10, 10 << 10, false}, {200 << 10, 10 << 10, true}, {200 << 10, 0, true}} {
		in := &tried{TB: t}
		Bound{PerByte: 10, Spare: 1 << 10}.Check(in, c.size, func() { kept = make([]byte, c.allocates) })
		if in.failed != c.fails {
			t.Errorf("%d bytes allocated for %d: failed is %v", c.allocates, c.size, in.failed)
		}
	}
}

func TestFillReachesEveryField(t *testing.T) {
	var m struct {
		Version int16
		Flag    bool
		List    []struct{ Name *string }
		ID      [4]byte
		Share   float64
	}
	var flag, name, id, share bool
	for seed := range uint64(50) {
		Fill(rand.New(rand.NewPCG(seed, 1)), &m)
		flag, id, share = flag || m.Flag, id || m.ID != [4]byte{}, share || m.Share != 0
		name = name || len(m.List) > 0 && m.List[0].Name != nil && *m.List[0].Name != ""
	}
	if !flag || !name || !id || !share || m.Version != 0 {
		t.Errorf("flag %v, name %v, id %v, share %v, version %d", flag, name, id, share, m.Version)
	}
}
