package protocol

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"lockstep/protocol/messages"
)

// What one client says others are told, in versions that write lengths as int16: longer texts are taken in none.
func TestTextsAreAsLongAsEveryVersionCanTell(t *testing.T) {
	asked := 0
	for _, a := range messages.APIs() {
		if a.Key == messages.KeyProduce || a.Key == messages.KeyFetch {
			continue
		}
		fields := reflect.TypeOf(must(messages.NewRequest(a.Key, a.Max))).Elem()
		for i := range fields.NumField() {
			for _, n := range []int{math.MaxInt16, math.MaxInt16 + 1} {
				req := must(messages.NewRequest(a.Key, a.Max))
				text, at := strings.Repeat("x", n), reflect.ValueOf(req).Elem().Field(i)
				switch at.Type() {
				case reflect.TypeFor[string]():
					at.SetString(text)
				case reflect.TypeFor[*string]():
					at.Set(reflect.ValueOf(&text))
				case reflect.TypeFor[[]string]():
					at.Set(reflect.ValueOf([]string{"short", text}))
				default:
					continue
				}
				if !req.IsFlexible() {
					continue
				}
				body := append([]byte{0}, req.AppendTo(nil)...)
				if len(body) < n {
					continue // a field of older versions
				}
				asked++
				if _, err := DecodeRequest(Header{Key: a.Key, Version: a.Max}, body); errors.Is(err, ErrFrameTooLarge) != (n > math.MaxInt16) {
					t.Errorf("%s.%s of %d bytes: %v", a.Name, fields.Field(i).Name, n, err)
				}
			}
		}
	}
	if asked < 50 {
		t.Errorf("%d texts were tried", asked)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
