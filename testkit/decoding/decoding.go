// Package decoding holds what every decoder of foreign bytes owes: memory that the bytes pay for. Fuzz targets ask it
// beside their own questions, and take their first messages from it.
package decoding

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
)

// Bound is how much a decoder may allocate: PerByte bytes for each byte that is there, and Spare, for what it needs
// whatever it reads. Garbage counts: a decoder that grows its room by doubling has allocated twice what it keeps.
type Bound struct{ PerByte, Spare uint64 }

// Check runs decode and fails the test if it allocates more for size bytes than b. Only the least of three runs counts,
// since other goroutines allocate too; so decode must bear being repeated.
func (b Bound) Check(t testing.TB, size int, decode func()) {
	t.Helper()
	most := b.PerByte*uint64(size) + b.Spare
	least := Allocated(decode)
	for again := 0; again < 2 && least > most; again++ {
		least = min(least, Allocated(decode))
	}
	if least > most {
		t.Fatalf("%d bytes are allocated for %d, at most %d may be", least, size, most)
	}
}

// Allocated is how many bytes the process allocates while do runs.
func Allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Fill puts random values into every exported field of the message that is pointed to, save its version and the tags
// that nobody knows.
func Fill(rng *rand.Rand, message any) { (&filler{rng}).fill(reflect.ValueOf(message).Elem()) }

type filler struct{ rng *rand.Rand }

func (f *filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.rng.IntN(2) == 1)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.rng.Uint64()) >> (64 - v.Type().Bits()))
	case reflect.Uint16, reflect.Uint32:
		v.SetUint(f.rng.Uint64() >> (64 - v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat(f.rng.Float64())
	case reflect.String:
		v.SetString(string(f.bytes()))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(f.rng.IntN(256)))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(f.bytes())
			return
		}
		n := f.rng.IntN(3)
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i))
		}
	case reflect.Pointer:
		if f.rng.IntN(2) == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch v.Type().Field(i).Name {
			case "Version", "UnknownTags":
			default:
				f.fill(v.Field(i))
			}
		}
	default:
		panic("unexpected kind " + v.Kind().String())
	}
}

func (f *filler) bytes() []byte {
	out := make([]byte, 1+f.rng.IntN(20))
	for i := range out {
		out[i] = byte('a' + f.rng.IntN(26))
	}
	return out
}
