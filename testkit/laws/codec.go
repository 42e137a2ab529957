package laws

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/testkit/decoding"
)

// Codec fuzzes what a machine reads from a journal, events and snapshots: nothing panics, memory is paid for by bytes, and
// what is accepted has one form. id is that of a machine.
func Codec[S, C, E, F any](f *testing.F, m core.Machine[S, C, E, F], id string) {
	const events, snapshots = true, false
	readable(numbers(numbers([][]byte{nil}, 512), 3), func(b []byte) error {
		_, err := m.Decode(core.Entry{Kind: core.EntryEvent, Payload: b})
		return err
	}, func(b []byte) { f.Add(events, uint8(core.EntryEvent), b) })
	readable(numbers([][]byte{nil}, 4), func(b []byte) error { _, err := m.Restore(id, b); return err }, func(b []byte) { f.Add(snapshots, uint8(0), b) })
	f.Add(snapshots, uint8(0), m.Snapshot(m.Init(id)))
	bound := decoding.Bound{PerByte: 128, Spare: 64 << 10}
	f.Fuzz(func(t *testing.T, what bool, kind uint8, b []byte) {
		if what == snapshots {
			restored := func(b []byte) (out []byte, err error) {
				bound.Check(t, len(b), func() {
					var s *S
					if s, err = m.Restore(id, b); err == nil {
						out = m.Snapshot(s)
					}
				})
				return out, err
			}
			once, err := restored(b)
			if err != nil {
				return
			}
			if twice, err := restored(once); err != nil || !bytes.Equal(twice, once) {
				t.Fatalf("a snapshot is written as\n%x and then as\n%x, %v", once, twice, err)
			}
			return
		}
		entry := core.Entry{Kind: core.EntryKind(kind), Payload: b}
		var ev E
		var err error
		bound.Check(t, len(b), func() { ev, err = m.Decode(entry) })
		if err != nil {
			return
		}
		once, durable := m.Encode(ev)
		if !durable {
			t.Fatalf("%T was read from a journal and is not written to it", ev)
		}
		back, err := m.Decode(once)
		if err != nil {
			t.Fatalf("%T does not read what it wrote: %v", ev, err)
		}
		if twice, _ := m.Encode(back); !bytes.Equal(twice.Payload, once.Payload) {
			t.Fatalf("%T is written as\n%x and then as\n%x", ev, once.Payload, twice.Payload)
		}
	})
}

// readable gives the shortest message behind each head that a decoder reads: bytes of 1 are empty strings and lists, and a
// tagged field of one byte.
func readable(heads [][]byte, read func([]byte) error, give func([]byte)) {
	const longest = 400
	for _, b := range heads {
		for range longest {
			err := read(b)
			if err == nil {
				give(b)
			}
			if err == nil || strings.Contains(err.Error(), "unknown") {
				break
			}
			b = append(b, 1)
		}
	}
}

// numbers are all int16 from 0 up to an end, exclusive, behind each head.
func numbers(heads [][]byte, end int) (out [][]byte) {
	for _, head := range heads {
		for n := range end {
			out = append(out, binary.BigEndian.AppendUint16(bytes.Clone(head), uint16(n)))
		}
	}
	return out
}
