package records

import (
	"bytes"
	"reflect"
	"testing"
)

// record is what all of them have in common.
type record interface {
	MaxVersion() int16
	AppendTo(b []byte, version int16) []byte
	ReadFrom(b []byte, version int16) error
}

func TestRecordsComeBackAtEveryVersion(t *testing.T) {
	name := "m"
	cases := []struct {
		full   record
		id     int16
		oldest record // what version 0 keeps
	}{
		{&MirrorTopicStateChangeRecord{TopicId: [16]byte{1}, MirrorName: &name, DesiredState: 7}, 29, nil},
		{&MirrorTopicStateChangeRecord{TopicId: [16]byte{1}, DesiredState: -1}, 29, nil},
		{&MirrorTopicTypeChangeRecord{TopicId: [16]byte{1}, MirrorType: 1}, 31, nil},
		{&MirrorSyncRegistrationChangeRecord{TopicId: [16]byte{1}, MirrorName: "m", Registered: true}, 32, nil},
		{&LastMirrorEpochsKey{MirrorName: "m", TopicId: [16]byte{1}, Partition: 4}, 1, nil},
		{&LastMirrorEpochsValue{LastMirrorEpoch: 3, LastMirrorOffset: 88}, 1, &LastMirrorEpochsValue{LastMirrorEpoch: 3, LastMirrorOffset: -1}},
		{&MirrorPartitionStateKey{MirrorName: "m", TopicId: [16]byte{1}, Partition: 4}, 2, nil},
		{&MirrorPartitionStateValue{State: 8, PreviousState: 3, RetryAttempt: 2, ErrorMessage: &name, DesiredMirrorType: 1}, 2,
			&MirrorPartitionStateValue{State: 8, PreviousState: 3, RetryAttempt: 2, ErrorMessage: &name}},
		{&MirrorSyncRegistrationKey{MirrorName: "m"}, 3, nil},
		{&MirrorSyncRegistrationValue{Topics: []MirrorSyncRegistrationValueSyncTopic{{Name: "t", TopicId: [16]byte{1}, Released: true}}}, 3, nil},
		{&MirrorPidReset{Version: 1, Keep: 1}, -1, &MirrorPidReset{Version: 1}},
	}
	for _, c := range cases {
		if r, ok := c.full.(interface{ ID() int16 }); ok && r.ID() != c.id {
			t.Errorf("%T has id %d, want %d", c.full, r.ID(), c.id)
		}
		for v := int16(0); v <= c.full.MaxVersion(); v++ {
			want := c.full
			if v == 0 && c.oldest != nil {
				want = c.oldest
			}
			b := c.full.AppendTo(nil, v)
			back := reflect.New(reflect.TypeOf(c.full).Elem()).Interface().(record)
			if err := back.ReadFrom(b, v); err != nil || !reflect.DeepEqual(back, want) {
				t.Errorf("%T version %d: %v\n got %+v\nwant %+v", c.full, v, err, back, want)
			}
			for cut := range b {
				if back.ReadFrom(b[:cut], v) == nil {
					t.Errorf("%T version %d cut at %d is accepted", c.full, v, cut)
				}
			}
		}
		if c.full.ReadFrom(nil, c.full.MaxVersion()+1) == nil {
			t.Errorf("%T of a future version is accepted", c.full)
		}
	}
}

// The keys of records 1 and 2 are not flexible: their bytes are those of the public prototype.
func TestKeysAreInTheOldForm(t *testing.T) {
	k := LastMirrorEpochsKey{MirrorName: "ab", TopicId: [16]byte{9}, Partition: 1}
	want := append([]byte{0, 2, 'a', 'b', 9}, make([]byte, 15)...)
	want = append(want, 0, 0, 0, 1)
	if got := k.AppendTo(nil, 0); !bytes.Equal(got, want) {
		t.Fatalf("got %x, want %x", got, want)
	}
	s := MirrorSyncRegistrationKey{MirrorName: "ab"}
	if got := s.AppendTo(nil, 0); !bytes.Equal(got, []byte{3, 'a', 'b', 0}) {
		t.Fatalf("got %x", got)
	}
}
