package quorum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"lockstep/actors/core"
	"lockstep/journal"
)

// On a volume, an entry of a control stream is the entry itself with its place in the fields only
// indexed batches use: Base is the number in the quorum's sequence, MaxTimestamp the term, Last the
// sequence shells see. A dump therefore shows control events as they are.
func wrap(e core.Entry, p Position, seq journal.Seq) core.Entry {
	e.Base, e.MaxTimestamp, e.Last = core.Offset(p.Seq), p.Term, core.Offset(seq)
	return e
}

// Place reads where an entry of a control stream stands, and the sequence shells see.
func Place(e core.Entry) (Position, journal.Seq) {
	return Position{Term: e.MaxTimestamp, Seq: int64(e.Base)}, journal.Seq(e.Last)
}

func unwrap(e core.Entry) core.Entry {
	e.Base, e.MaxTimestamp, e.Last = 0, 0, 0
	return e
}

const snapshotHead = 25

// wrapSnapshot puts the place in front of the state. absent marks the base of a copied stream that has
// no snapshot.
func wrapSnapshot(state []byte, p Position, seq journal.Seq, absent bool) []byte {
	b := make([]byte, 0, snapshotHead+len(state))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Term))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(seq))
	if absent {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return append(b, state...)
}

// Snapshot is a snapshot of a control stream as a volume holds it.
type Snapshot struct {
	Place  Position
	Seq    journal.Seq
	Absent bool // only the base of a copied stream
	State  []byte
}

// ParseSnapshot takes apart what a volume holds as the snapshot of a control stream.
func ParseSnapshot(b []byte) (Snapshot, error) {
	if len(b) < snapshotHead {
		return Snapshot{}, fmt.Errorf("snapshot of a control stream has %d bytes", len(b))
	}
	return Snapshot{
		Place:  Position{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))},
		Seq:    journal.Seq(binary.BigEndian.Uint64(b[16:])),
		Absent: b[24] == 1,
		State:  b[snapshotHead:],
	}, nil
}

// Stream is where the quorum keeps its own entries on every volume.
const Stream = journal.Stream("control/~quorum")

// The kinds of the quorum's own entries.
const (
	kindMarker core.EntryKind = 100 + iota // a term begins; payload: members
	kindDrop                               // a stream was dropped; payload: its name
	kindBegin                              // this volume is being refilled: believe nothing
	kindEnd                                // it is whole again
)

func encodeMembers(ids []core.ReplicaID) []byte {
	var b []byte
	for _, id := range ids {
		b = binary.BigEndian.AppendUint32(b, uint32(id))
	}
	return b
}

func decodeMembers(b []byte) (ids []core.ReplicaID, err error) {
	if len(b)%4 != 0 {
		return nil, errors.New("member list of a term is damaged")
	}
	for ; len(b) > 0; b = b[4:] {
		ids = append(ids, core.ReplicaID(binary.BigEndian.Uint32(b)))
	}
	return ids, nil
}

func isControl(s journal.Stream) bool { return strings.HasPrefix(string(s), "control/") }
