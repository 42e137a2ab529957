package batch

import (
	"encoding/binary"
	"fmt"

	"lockstep/protocol/records"
)

// ControlType is the kind of a control record.
type ControlType int16

// The control records that a partition log of ours may hold.
const (
	ControlAbort          ControlType = 0
	ControlCommit         ControlType = 1
	ControlMirrorPidReset ControlType = 7
)

// Keep says which producer state survives a MIRROR_PID_RESET (C13).
type Keep int8

// What survives.
const (
	KeepNothing    Keep = 0 // as the base KIP has it
	KeepIdempotent Keep = 1 // idempotent producers go on; transactional ids never do
)

// MirrorPidReset builds the control batch that ends mirroring of a partition. Base offset and leader epoch
// are stamped when it is appended. at is Unix ms.
func MirrorPidReset(at int64, keep Keep) Batch {
	key := binary.BigEndian.AppendUint16(nil, 0) // version of the key
	key = binary.BigEndian.AppendUint16(key, uint16(ControlMirrorPidReset))
	reset := records.MirrorPidReset{Version: 1, Keep: int8(keep)}
	return Build(Batch{Attributes: attrControl, LeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1},
		[]Record{{Timestamp: at, Key: key, Value: reset.AppendTo(nil, 1)}})
}

// Control reads the one record of a control batch.
func (b Batch) Control() (kind ControlType, value []byte, err error) {
	if !b.IsControl() {
		return 0, nil, fmt.Errorf("batch at offset %d is not a control batch", b.BaseOffset)
	}
	var key []byte
	found := false
	err = b.Each(0, func(r Record) bool {
		key, value, found = r.Key, r.Value, true
		return false
	})
	switch {
	case err != nil:
		return 0, nil, err
	case !found || len(key) < 4:
		return 0, nil, fmt.Errorf("control batch at offset %d has no type", b.BaseOffset)
	default:
		return ControlType(binary.BigEndian.Uint16(key[2:])), value, nil
	}
}

// PidReset tells what survives a MIRROR_PID_RESET. Version 0 of its value has no scope, and one newer
// than ours is not understood: both keep nothing, which is the safe reading.
func (b Batch) PidReset() (keep Keep, err error) {
	kind, value, err := b.Control()
	if err == nil && kind != ControlMirrorPidReset {
		err = fmt.Errorf("control batch at offset %d has type %d, not %d", b.BaseOffset, kind, ControlMirrorPidReset)
	}
	if err != nil {
		return KeepNothing, err
	}
	if len(value) < 2 {
		return KeepNothing, fmt.Errorf("control batch at offset %d has a value without a version", b.BaseOffset)
	}
	var reset records.MirrorPidReset
	version := int16(binary.BigEndian.Uint16(value))
	if version < 1 || version > reset.MaxVersion() {
		return KeepNothing, nil
	}
	if err := reset.ReadFrom(value, version); err != nil {
		return KeepNothing, fmt.Errorf("control batch at offset %d: %w", b.BaseOffset, err)
	}
	return Keep(reset.Keep), nil
}
