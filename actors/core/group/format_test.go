package group

import (
	"encoding/binary"
	"slices"
	"testing"
)

// What earlier programs wrote is read: their events and snapshots, whose fields of today have the values that say
// "not stated".
func TestWhatEarlierVersionsWroteIsRead(t *testing.T) {
	offsets := OffsetsStored{Group: "g", Offsets: []OffsetRecord{{Topic: "t", ID: topicID("t"), Partition: 1, Offset: 7, LeaderEpoch: 3, Metadata: "m", CommittedAt: 5, Age: 9, RetainMs: 11}}}
	for version := int16(0); version <= 4; version++ {
		ev, err := DecodeEvent(offsets.appendTo(header(272, version), version, true))
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		want := offsets.Offsets[0]
		if version < 2 {
			want.Age = 0
		}
		if version < 4 {
			want.RetainMs = -1
		}
		if got := ev.(OffsetsStored); got.Group != "g" || !slices.Equal(got.Offsets, []OffsetRecord{want}) {
			t.Errorf("version %d: %+v, want %+v", version, got, want)
		}
	}
	group := GroupRecord{Group: "g", Generation: 4, Assigned: 4, ProtocolType: "consumer", Offsets: offsets.Offsets, EmptyAge: 6}
	whole := Snapshot{Groups: []GroupRecord{group}, Age: 8, Consumers: []ConsumerGroupRecord{{Group: "c", Epoch: 2}}, Configured: []GroupConfigured{{Group: "g", Settings: []GroupSettingRecord{{SessionSetting, "50000"}}}}}
	for version := int16(0); version <= 4; version++ {
		s, err := Machine().Restore("", whole.appendTo(binary.BigEndian.AppendUint16(nil, uint16(version)), version, true))
		if err != nil {
			t.Fatalf("snapshot version %d: %v", version, err)
		}
		_, consumers := s.groups["c"]
		if g := s.groups["g"]; g == nil || g.generation != 4 || g.offsets[position{"t", 1}].Offset != 7 || consumers != (version >= 3) || (s.age == 8) != (version >= 2) || (s.configs["g"] != nil) != (version >= 4) {
			t.Errorf("snapshot version %d: %+v, age %d, settings %v", version, g, s.age, s.configs)
		}
	}
}

func header(id, version int16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, uint16(id)), uint16(version))
}
