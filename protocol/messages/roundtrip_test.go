package messages

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/testkit/decoding"
)

// message is what requests and responses have in common.
type message interface {
	Key() int16
	MaxVersion() int16
	SetVersion(int16)
	GetVersion() int16
	IsFlexible() bool
	AppendTo([]byte) []byte
	ReadFrom([]byte) error
}

var (
	_ kmsg.Request             = (*FetchRequest)(nil)
	_ kmsg.Response            = (*FetchResponse)(nil)
	_ kmsg.ThrottleResponse    = (*FetchResponse)(nil)
	_ kmsg.SetThrottleResponse = (*CreateTopicsResponse)(nil)
)

// ownMessages makes each of our requests and responses.
func ownMessages(t testing.TB) []func() message {
	var out []func() message
	for _, a := range APIs() {
		if !a.Own {
			if ownRequest(a.Key) != nil {
				t.Errorf("%s: apis.json says kmsg, but there is a type of ours", a.Name)
			}
			continue
		}
		if ownRequest(a.Key) == nil {
			t.Fatalf("%s: apis.json says own, but there is no type of ours", a.Name)
		}
		if ownRequest(a.Key).MaxVersion() != a.Max {
			t.Errorf("%s: the newest version is %d in apis.json and %d in the type", a.Name, a.Max, ownRequest(a.Key).MaxVersion())
		}
		out = append(out,
			func() message { return ownRequest(a.Key).(message) },
			func() message { return ownRequest(a.Key).ResponseKind().(message) })
	}
	return out
}

// Whatever is written in a version reads back as what that version carries, and writes the same again.
func TestEveryMessageComesBackAtEveryVersion(t *testing.T) {
	for _, make := range ownMessages(t) {
		a, _ := APIOf(make().Key())
		for version := a.Min; version <= a.Max; version++ {
			for seed := range uint64(100) {
				m := make()
				if seed > 0 {
					decoding.Fill(rand.New(rand.NewPCG(seed, uint64(version))), m)
				}
				m.SetVersion(version)
				want := m.AppendTo(nil)
				back := make()
				back.SetVersion(version)
				if err := back.ReadFrom(want); err != nil {
					t.Fatalf("%T version %d: %v", m, version, err)
				}
				if got := back.AppendTo(nil); !bytes.Equal(got, want) {
					t.Fatalf("%T version %d:\n got %x\nwant %x", m, version, got, want)
				}
				again := make()
				again.SetVersion(version)
				if err := again.ReadFrom(back.AppendTo(nil)); err != nil || !reflect.DeepEqual(again, back) {
					t.Fatalf("%T version %d: read twice, read differently: %v", m, version, err)
				}
				for cut := range want {
					short := make()
					short.SetVersion(version)
					if short.ReadFrom(want[:cut]) == nil {
						t.Fatalf("%T version %d: cut at %d of %d is accepted", m, version, cut, len(want))
					}
				}
			}
		}
		for _, version := range []int16{a.Min - 1, a.Max + 1} {
			m := make()
			m.SetVersion(version)
			if m.ReadFrom(nil) == nil {
				t.Errorf("%T version %d is read", m, version)
			}
		}
	}
}

// In the newest version nothing is lost: every field survives.
func TestTheNewestVersionCarriesEveryField(t *testing.T) {
	gone := map[string]bool{ // fields that Kafka itself, or the draft's version 0, has dropped
		"ReplicaId": true, "Topic": true,
	}
	for _, make := range ownMessages(t) {
		m := make()
		if m.Key() == KeyAddTopicsToMirror {
			continue // version 1 moved MirrorName to the top
		}
		for seed := uint64(1); seed < 50; seed++ {
			m := make()
			decoding.Fill(rand.New(rand.NewPCG(seed, 1)), m)
			m.SetVersion(m.MaxVersion())
			if m.Key() == KeyFetch {
				zeroNamed(reflect.ValueOf(m).Elem(), gone)
			}
			back := make()
			back.SetVersion(m.MaxVersion())
			if err := back.ReadFrom(m.AppendTo(nil)); err != nil {
				t.Fatal(err)
			}
			if m.Key() == KeyFetch {
				zeroNamed(reflect.ValueOf(back).Elem(), gone)
			}
			if !reflect.DeepEqual(back, m) {
				t.Fatalf("%T:\n got %+v\nwant %+v", m, back, m)
			}
		}
	}
}

// zeroNamed zeroes the named fields at every level, but not inside MirrorReplicaInfo.
func zeroNamed(v reflect.Value, names map[string]bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			switch {
			case name == "MirrorReplicaInfo" || name == "ReplicaState":
			case names[name]:
				v.Field(i).SetZero()
			default:
				zeroNamed(v.Field(i), names)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				zeroNamed(v.Index(i), names)
			}
		}
	default: // a leaf
	}
}
