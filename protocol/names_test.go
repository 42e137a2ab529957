package protocol

import (
	"bytes"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
	"lockstep/testkit/decoding"
)

// produceOf names so many empty topics, and one whose partitions have records of so many bytes.
func produceOf(version int16, topics, partitions, records int, tag bool) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Topics = version, make([]kmsg.ProduceRequestTopic, topics)
	topic := kmsg.ProduceRequestTopic{Topic: "t", Partitions: make([]kmsg.ProduceRequestTopicPartition, partitions)}
	for i := range topic.Partitions {
		topic.Partitions[i].Records = make([]byte, records)
		if tag {
			topic.Partitions[i].UnknownTags.Set(0, nil)
		}
	}
	req.Topics = append(req.Topics, topic)
	return AppendRequest(nil, 1, nil, req)[4:]
}

// A Produce frame of 100 MiB may hold twelve million partitions without a record, and each takes fifty times its bytes.
func TestAProduceOfManyNamesIsRefusedCheaply(t *testing.T) {
	a, _ := messages.APIOf(messages.KeyProduce)
	for version := a.Min; version <= a.Max; version++ {
		for _, frame := range [][]byte{produceOf(version, 0, 200_000, 0, version >= produceFlexible), produceOf(version, 400_000, 1, 0, false)} {
			h, body, err := ParseHeader(frame)
			if err != nil {
				t.Fatal(err)
			}
			if n := decoding.Allocated(func() { _, err = DecodeRequest(h, body) }); !errors.Is(err, ErrFrameTooLarge) || n > 64<<10 {
				t.Errorf("version %d: %d bytes allocated, %v", version, n, err)
			}
		}
	}
}

// So may a SyncGroup of 16 MiB name three million members, and a JoinGroup protocols, that have no data.
func TestGroupRequestsOfManyNamesAreRefusedCheaply(t *testing.T) {
	for _, key := range []int16{messages.KeyJoinGroup, messages.KeySyncGroup} {
		a, _ := messages.APIOf(key)
		for version := a.Min; version <= a.Max; version++ {
			for names, refused := range map[int]bool{300_000: true, 100: false} {
				req, err := messages.NewRequest(key, version)
				if err != nil {
					t.Fatal(err)
				}
				data := make([]byte, 10_000)
				if refused {
					data = nil
				}
				switch r := req.(type) {
				case *kmsg.JoinGroupRequest:
					for range names {
						r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: "n", Metadata: data})
					}
				case *kmsg.SyncGroupRequest:
					for range names {
						r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: "n", MemberAssignment: data})
					}
				}
				h, body, err := ParseHeader(AppendRequest(nil, 1, nil, req)[4:])
				if err != nil {
					t.Fatal(err)
				}
				n := decoding.Allocated(func() { _, err = DecodeRequest(h, body) })
				if errors.Is(err, ErrFrameTooLarge) != refused || refused && n > 64<<10 || !refused && err != nil {
					t.Errorf("key %d version %d, %d names: %d bytes allocated, %v", key, version, names, n, err)
				}
			}
		}
	}
}

func TestNamesAreWhatIsNotRecords(t *testing.T) {
	a, _ := messages.APIOf(messages.KeyProduce)
	for version := a.Min; version <= a.Max; version++ {
		frame := produceOf(version, 2, 10, 10_000, false)
		if n := Names(frame); n != len(frame)-100_000 {
			t.Errorf("version %d: %d bytes of %d are names", version, n, len(frame))
		}
		if h, body, err := ParseHeader(frame); err != nil {
			t.Error(err)
		} else if _, err = DecodeRequest(h, body); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
	}
	if other := AppendRequest(nil, 1, nil, kmsg.NewPtrMetadataRequest()); Names(other[4:]) != len(other)-4 {
		t.Error("all of another request is names")
	}
}

// The worst that kmsg makes of a byte is what the front charges for it.
func TestOneTagOfAnEmptyElementIsTheWorst(t *testing.T) {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.Topics = make([]kmsg.DescribeTopicPartitionsRequestTopic, 100_000)
	for i := range req.Topics {
		req.Topics[i].UnknownTags.Set(0, nil)
	}
	h, body, err := ParseHeader(AppendRequest(nil, 1, nil, req)[4:])
	if err != nil {
		t.Fatal(err)
	}
	decoding.Bound{PerByte: Growth, Spare: 4 << 10}.Check(t, len(body), func() {
		if _, err := DecodeRequest(h, bytes.Clone(body)); err != nil {
			t.Fatal(err)
		}
	})
}
