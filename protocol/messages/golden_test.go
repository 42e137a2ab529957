package messages

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/testkit/decoding"
)

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
					decoding.Fill(rand.New(rand.NewPCG(seed, uint64(version))), theirs)
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
