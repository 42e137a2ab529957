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

// Marker is what ends a transaction in one partition.
type Marker struct {
	Commit           bool
	CoordinatorEpoch int32 // -1: written without a coordinator
}

// EndTxn builds the control batch that ends the transaction of a producer. Base offset and leader epoch are stamped
// when it is appended. at is Unix ms.
func EndTxn(at int64, producer int64, epoch int16, m Marker) Batch {
	kind := ControlAbort
	if m.Commit {
		kind = ControlCommit
	}
	key := binary.BigEndian.AppendUint16(nil, 0) // version of the key
	key = binary.BigEndian.AppendUint16(key, uint16(kind))
	value := binary.BigEndian.AppendUint16(nil, 0) // version of the value
	value = binary.BigEndian.AppendUint32(value, uint32(m.CoordinatorEpoch))
	return Build(Batch{Attributes: attrControl | attrTransaction, LeaderEpoch: -1, ProducerID: producer, ProducerEpoch: epoch, BaseSequence: -1},
		[]Record{{Timestamp: at, Key: key, Value: value}})
}

// EndOfTxn reads the marker of a control batch; ok is false for batches that are none. A value that is not
// understood leaves the coordinator's epoch unknown: what counts is the type.
func (b Batch) EndOfTxn() (m Marker, ok bool) {
	if !b.IsControl() || b.ProducerID < 0 {
		return m, false
	}
	kind, value, err := b.Control()
	if err != nil || kind != ControlAbort && kind != ControlCommit {
		return m, false
	}
	m = Marker{Commit: kind == ControlCommit, CoordinatorEpoch: -1}
	if len(value) >= 6 {
		m.CoordinatorEpoch = int32(binary.BigEndian.Uint32(value[2:]))
	}
	return m, true
}

// maxControl bounds a control batch decompressed, in bytes: whoever applies it to a log must not be busy with more.
const maxControl = 64 << 10

// Control reads the one record of a control batch.
func (b Batch) Control() (kind ControlType, value []byte, err error) {
	if !b.IsControl() {
		return 0, nil, fmt.Errorf("batch at offset %d is not a control batch", b.BaseOffset)
	}
	var key []byte
	found := false
	err = b.Each(maxControl, func(r Record) bool {
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
