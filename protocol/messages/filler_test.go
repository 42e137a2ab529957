package messages

import (
	"math/rand/v2"
	"reflect"
)

// filler puts random values into any message by reflection.
type filler struct{ rng *rand.Rand }

func (f *filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.rng.IntN(2) == 1)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.rng.Uint64()) >> (64 - v.Type().Bits()))
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
