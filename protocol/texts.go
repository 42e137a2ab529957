package protocol

import (
	"fmt"
	"math"
	"reflect"

	"lockstep/protocol/messages"
)

// shortTexts refuses texts that no version without compact lengths could carry: what one client says, others are told in
// the version that they ask with. Kafka's decoder refuses them in every version. Only a body that is longer than such a
// text is looked into. Produce and Fetch are left out: they are the largest and the most, and nobody is told what they say.
func shortTexts(key int16, size int, req any) error {
	if size <= math.MaxInt16 || key == messages.KeyProduce || key == messages.KeyFetch {
		return nil
	}
	if n := longestText(reflect.ValueOf(req)); n > math.MaxInt16 {
		return fmt.Errorf("a text of %d bytes, limit %d: %w", n, math.MaxInt16, ErrFrameTooLarge)
	}
	return nil
}

func longestText(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return longestText(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n = max(n, longestText(v.Field(i)))
		}
	case reflect.Slice:
		if !mayHaveText(v.Type().Elem().Kind()) {
			return 0
		}
		for i := range v.Len() {
			n = max(n, longestText(v.Index(i)))
		}
	default: // numbers, ids, and tagged fields that nobody knows
	}
	return n
}

func mayHaveText(k reflect.Kind) bool {
	return k == reflect.String || k == reflect.Struct || k == reflect.Pointer
}
