package messages

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"lockstep/testkit/decoding"
)

func TestBusMessagesComeBack(t *testing.T) {
	kinds := []BusMessage{&ReplicaFloors{}, &GateEvidence{}, &HwHint{}, &ReleasedNotice{}, &ControlRequest{}, &ControlAnswer{}}
	for _, kind := range kinds {
		for seed := range uint64(50) {
			m := reflect.New(reflect.TypeOf(kind).Elem())
			decoding.Fill(rand.New(rand.NewPCG(seed, 9)), m.Interface())
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

// NATS carries what anybody sent: what is read has one form, and costs what its bytes say.
func FuzzBus(f *testing.F) {
	for _, kind := range []BusMessage{&ReplicaFloors{}, &GateEvidence{}, &HwHint{}, &ReleasedNotice{}, &ControlRequest{}, &ControlAnswer{}} {
		for seed := range uint64(5) {
			decoding.Fill(rand.New(rand.NewPCG(seed, 1)), kind)
			f.Add(EncodeBus(kind))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m BusMessage
		var err error
		decoding.Bound{PerByte: 64, Spare: 4 << 10}.Check(t, len(b), func() { m, err = DecodeBus(b) })
		if err != nil {
			return
		}
		once := EncodeBus(m)
		back, err := DecodeBus(once)
		if err != nil || !bytes.Equal(EncodeBus(back), once) {
			t.Fatalf("%T: %v\n got %+v\nwant %+v", m, err, back, m)
		}
	})
}
