package messages

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// filler puts random values into any message by reflection.
type filler struct {
	rng   *rand.Rand
	depth int
}

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

// What kmsg writes, we read and write again to the same bytes, at every version that kmsg knows.
func TestOurTypesAgreeWithKmsgByteForByte(t *testing.T) {
	cases := []struct {
		theirs     func() message
		ours       func() message
		oldest     int16
		newest     int16
		beforeSend func(m message)
	}{
		{func() message { return kmsg.NewPtrFetchRequest() }, func() message { return NewPtrFetchRequest() }, 4, 18, func(m message) {
			r := m.(*kmsg.FetchRequest)
			for i := range r.Topics {
				for j := range r.Topics[i].Partitions {
					p := &r.Topics[i].Partitions[j]
					if r.Version < 17 { // kmsg writes tags of the future into older versions
						p.ReplicaDirectoryID = [16]byte{}
					}
					if r.Version < 18 {
						p.HighWatermark = math.MaxInt64
					}
				}
			}
			if r.Version < 15 {
				r.ReplicaState = kmsg.NewFetchRequestReplicaState()
			}
		}},
		{func() message { return kmsg.NewPtrFetchResponse() }, func() message { return NewPtrFetchResponse() }, 4, 18, func(m message) {
			if r := m.(*kmsg.FetchResponse); r.Version < 16 {
				r.Brokers = nil
			}
		}},
		{func() message { return kmsg.NewPtrCreateTopicsRequest() }, func() message { return NewPtrCreateTopicsRequest() }, 2, 7, nil},
		{func() message { return kmsg.NewPtrCreateTopicsResponse() }, func() message { return NewPtrCreateTopicsResponse() }, 2, 7, nil},
	}
	for _, c := range cases {
		for version := c.oldest; version <= c.newest; version++ {
			for seed := range uint64(200) {
				theirs := c.theirs()
				if seed > 0 { // the first is all defaults
					(&filler{rng: rand.New(rand.NewPCG(seed, uint64(version)))}).fill(reflect.ValueOf(theirs).Elem())
				}
				theirs.SetVersion(version)
				if c.beforeSend != nil {
					c.beforeSend(theirs)
				}
				want := theirs.AppendTo(nil)
				ours := c.ours()
				ours.SetVersion(version)
				if err := ours.ReadFrom(want); err != nil {
					t.Fatalf("%T version %d: %v", theirs, version, err)
				}
				if got := ours.AppendTo(nil); !bytes.Equal(got, want) {
					t.Fatalf("%T version %d:\n ours %x\nkmsg's %x\n%+v", theirs, version, got, want, theirs)
				}
				if ours.IsFlexible() != theirs.IsFlexible() || ours.Key() != theirs.Key() {
					t.Fatalf("%T version %d: key or flexibility differ", theirs, version)
				}
			}
		}
	}
}

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
					(&filler{rng: rand.New(rand.NewPCG(seed, uint64(version)))}).fill(reflect.ValueOf(m).Elem())
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
			(&filler{rng: rand.New(rand.NewPCG(seed, 1))}).fill(reflect.ValueOf(m).Elem())
			m.SetVersion(m.MaxVersion())
			if m.Key() == KeyFetch {
				clear1(reflect.ValueOf(m).Elem(), gone)
			}
			back := make()
			back.SetVersion(m.MaxVersion())
			if err := back.ReadFrom(m.AppendTo(nil)); err != nil {
				t.Fatal(err)
			}
			if m.Key() == KeyFetch {
				clear1(reflect.ValueOf(back).Elem(), gone)
			}
			if !reflect.DeepEqual(back, m) {
				t.Fatalf("%T:\n got %+v\nwant %+v", m, back, m)
			}
		}
	}
}

// clear1 zeroes the named fields one and two levels down, but not inside MirrorReplicaInfo.
func clear1(v reflect.Value, names map[string]bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			switch {
			case name == "MirrorReplicaInfo" || name == "ReplicaState":
			case names[name]:
				v.Field(i).SetZero()
			default:
				clear1(v.Field(i), names)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				clear1(v.Index(i), names)
			}
		}
	}
}

func TestBusMessagesComeBack(t *testing.T) {
	kinds := []BusMessage{&ReplicaFloors{}, &GateEvidence{}, &HwHint{}, &ReleasedNotice{}, &ControlRequest{}, &ControlAnswer{}}
	for _, kind := range kinds {
		for seed := range uint64(50) {
			m := reflect.New(reflect.TypeOf(kind).Elem())
			(&filler{rng: rand.New(rand.NewPCG(seed, 9))}).fill(m.Elem())
			b := EncodeBus(m.Interface().(BusMessage))
			back, err := DecodeBus(b)
			if err != nil || !reflect.DeepEqual(back, m.Interface()) {
				t.Fatalf("%T: %v\n got %+v\nwant %+v", kind, err, back, m.Interface())
			}
			for cut := range b {
				if _, err := DecodeBus(b[:cut]); err == nil {
					t.Fatalf("%T cut at %d is accepted", kind, cut)
				}
			}
			if _, err := DecodeBus(append(b, 0)); err == nil {
				t.Fatalf("%T with a byte too many is accepted", kind)
			}
		}
	}
	for _, b := range [][]byte{{1, 44, 0, 1}, {0, 1, 0, 0}} {
		if _, err := DecodeBus(b); err == nil {
			t.Fatalf("%x is accepted", b)
		}
	}
}

// The floors in a Fetch are the very bytes that travel alone (D19).
func TestFloorsInAFetchAreTheBusMessage(t *testing.T) {
	floors := &ReplicaFloors{DestinationCluster: "dc2", MirrorName: "m", Sender: [16]byte{1}, SentMono: 5, Topics: []ReplicaFloorsTopic{
		{TopicId: [16]byte{2}, Partitions: []ReplicaFloorsPartition{{Partition: 3, SourceEpoch: 4, RegistrationEpoch: 6, Floor: 87, IsrSize: 3, MinIsr: 2, DestinationEpoch: 8, Seq: 9}}}}}
	req := NewPtrFetchRequest()
	req.Version = 20
	req.MirrorReplicaInfo.MirrorName = "m"
	req.MirrorReplicaInfo.Floors = floors
	b := req.AppendTo(nil)
	if !bytes.Contains(b, EncodeBus(floors)[4:]) {
		t.Fatal("the Fetch carries other bytes")
	}
	back := NewPtrFetchRequest()
	back.Version = 20
	if err := back.ReadFrom(b); err != nil || !reflect.DeepEqual(back.MirrorReplicaInfo.Floors, floors) {
		t.Fatalf("%v %+v", err, back.MirrorReplicaInfo)
	}
}

// A peer that knows none of our tags reads the rest, and what it sends without them reads as absent.
func TestAPeerThatSpeaksOnlyTheKIPIsUnderstood(t *testing.T) {
	req := NewPtrRegisterMirrorSyncTopicRequest()
	req.MirrorName = "m"
	req.Topics = []RegisterMirrorSyncTopicRequestTopicState{NewRegisterMirrorSyncTopicRequestTopicState()}
	req.Topics[0].TopicName, req.Topics[0].RecoveryPromotion = "t", true
	// compact "m", one topic: uuid, compact "t", true, no tags; no tags.
	want := append([]byte{2, 'm', 2}, make([]byte, 16)...)
	want = append(want, 2, 't', 1, 0, 0)
	if got := req.AppendTo(nil); !bytes.Equal(got, want) {
		t.Fatalf("without our fields: %x, want the draft's %x", got, want)
	}
	back := NewPtrRegisterMirrorSyncTopicRequest()
	if err := back.ReadFrom(want); err != nil || back.Topics[0].Generation != 0 || back.ClusterId != "" || back.Topics[0].MinIsr != -1 {
		t.Fatalf("%v %+v", err, back)
	}
	// A tag of somebody's future is stepped over, with its size checked.
	future := append(bytes.Clone(want[:len(want)-1]), 1, 0x90, 0x9c, 1, 2, 0xaa, 0xbb)
	if err := back.ReadFrom(future); err != nil {
		t.Fatal(err)
	}
	if err := back.ReadFrom(append(bytes.Clone(want[:len(want)-1]), 1, 0x90, 0x9c, 1, 9, 0xaa)); err == nil {
		t.Fatal("a tag that is longer than the message is accepted")
	}
}

// The draft's Fetch 20: MirrorReplicaInfo follows RackId, and everything in it is as its JSON says.
func TestFetch20IsTheDrafts(t *testing.T) {
	req := NewPtrFetchRequest()
	req.Version = 20
	req.RackId = "r"
	req.MirrorReplicaInfo = FetchRequestMirrorReplicaInfo{MirrorName: "m", Topics: []FetchRequestMirroredTopics{{Topic: "t", TopicId: [16]byte{7}, Partitions: []FetchRequestMirroredTopicPartition{
		{Partition: 1, ReplicaLastOffsets: []FetchRequestReplicaLastOffsets{{ReplicaId: 2, LastFetchOffset: 3}}, ISR: []int32{2}, MinISR: 1}}}}}
	want := []byte{2, 'm', 2, 2, 't', 7}
	want = append(want, make([]byte, 15)...)
	want = append(want, 2, 0, 0, 0, 1, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0)
	want = append([]byte{2, 'r'}, append(want, 0)...) // RackId before, the request's tags after
	if got := req.AppendTo(nil); !bytes.HasSuffix(got, want) {
		t.Fatalf("got %x\nwant an end of %x", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, make := range ownMessages(f) {
		a, _ := APIOf(make().Key())
		for version := a.Min; version <= a.Max; version++ {
			m := make()
			(&filler{rng: rand.New(rand.NewPCG(5, uint64(version)))}).fill(reflect.ValueOf(m).Elem())
			m.SetVersion(version)
			_, response := m.(kmsg.Response)
			rng := rand.New(rand.NewPCG(uint64(a.Key), uint64(version)))
			for range 20 {
				b := m.AppendTo(nil)
				for range rng.IntN(4) {
					b[rng.IntN(len(b))] = byte(rng.Uint32())
				}
				f.Add(a.Key, version, response, b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, response bool, b []byte) {
		req := ownRequest(key)
		if req == nil {
			return
		}
		req.SetVersion(version)
		var m, back message = req, ownRequest(key)
		if response {
			m, back = req.ResponseKind(), req.ResponseKind()
		}
		if m.ReadFrom(b) != nil {
			return
		}
		// What was accepted has one form: written, it reads as the same and is written the same.
		once := m.AppendTo(nil)
		back.SetVersion(version)
		if err := back.ReadFrom(once); err != nil || !bytes.Equal(back.AppendTo(nil), once) {
			t.Fatalf("%T version %d: %v", m, version, err)
		}
	})
}
