package messages

import (
	"encoding/hex"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt")

// stable gives every field a value that depends on its path alone, so that a new field changes nothing but
// its own bytes.
func stable(v reflect.Value, path string) {
	h := fnv.New64a()
	h.Write([]byte(path))
	n := h.Sum64()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(n) >> (64 - v.Type().Bits()))
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", n%1000))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(n >> (i % 8 * 8) & 0xff)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{byte(n), byte(n >> 8)})
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		stable(v.Index(0), path+"/0")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		stable(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Version" {
				stable(v.Field(i), path+"."+name)
			}
		}
	default:
		panic("unexpected kind " + v.Kind().String())
	}
}

// The bytes of every message at every version are written down: what is on disk or was sent by another
// release stays readable. A change that is meant is made with -update, and read in the diff.
func TestBytesAreThoseWrittenDown(t *testing.T) {
	var now strings.Builder
	for _, make := range ownMessages(t) {
		a, _ := APIOf(make().Key())
		for version := a.Min; version <= a.Max; version++ {
			m := make()
			name := reflect.TypeOf(m).Elem().Name()
			stable(reflect.ValueOf(m).Elem(), name)
			m.SetVersion(version)
			fmt.Fprintf(&now, "%s %d %s\n", name, version, hex.EncodeToString(m.AppendTo(nil)))
		}
	}
	for _, m := range []BusMessage{&ReplicaFloors{}, &GateEvidence{}, &HwHint{}, &ReleasedNotice{}, &ControlRequest{}, &ControlAnswer{}} {
		name := reflect.TypeOf(m).Elem().Name()
		stable(reflect.ValueOf(m).Elem(), name)
		fmt.Fprintf(&now, "%s %s\n", name, hex.EncodeToString(EncodeBus(m)))
	}
	const file = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Split(string(raw), "\n")
	for i, line := range strings.Split(now.String(), "\n") {
		if i >= len(was) || was[i] != line {
			name, _, _ := strings.Cut(line, " ")
			t.Errorf("%s, line %d: the bytes have changed; if that is meant, go test ./protocol/messages -run WrittenDown -update", name, i+1)
		}
	}
}
