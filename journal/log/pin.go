package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"

	"lockstep/actors/core"
	"lockstep/journal/vfs"
)

// Pin is the tail a volume swears to: written at segment switch and clean close. A log that comes
// back shorter, or with another hash there, is refused.
type Pin struct {
	Volume  core.Incarnation
	Counter uint64 // the valid slot with the higher one counts
	Index   uint64
	Hash    Hash
	Segment uint64
	Clean   bool // written by Close
}

const (
	pinName  = "pin"
	pinMagic = 0x4c4b504e // "LKPN"
)

func encodePin(p Pin) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, Sector)
	b = le.AppendUint32(b, pinMagic)
	clean := byte(0)
	if p.Clean {
		clean = 1
	}
	b = append(b, FormatVersion, clean, 0, 0)
	b = append(b, p.Volume[:]...)
	b = le.AppendUint64(b, p.Counter)
	b = le.AppendUint64(b, p.Index)
	b = le.AppendUint64(b, p.Segment)
	b = append(b, p.Hash[:]...)
	b = b[:Sector-frameCRC]
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func parsePin(b []byte) (Pin, error) {
	le := binary.LittleEndian
	var p Pin
	if len(b) < Sector || crc32.Checksum(b[:Sector-frameCRC], castagnoli) != le.Uint32(b[Sector-frameCRC:Sector]) {
		return p, errors.New("pin slot is damaged")
	}
	if le.Uint32(b) != pinMagic || b[4] != FormatVersion {
		return p, fmt.Errorf("pin slot has format version %d, this build reads %d", b[4], FormatVersion)
	}
	p.Clean = b[5] == 1
	copy(p.Volume[:], b[8:])
	p.Counter = le.Uint64(b[24:])
	p.Index = le.Uint64(b[32:])
	p.Segment = le.Uint64(b[40:])
	copy(p.Hash[:], b[48:])
	return p, nil
}

// ReadPin returns the newest valid pin and what is wrong with the slots, if anything. One damaged
// slot is what a crash during a pin write leaves; two are refused. exists is false without a file.
func ReadPin(dir vfs.FS) (newest Pin, damaged []error, exists bool, err error) {
	f, err := dir.OpenRead(pinName)
	if errors.Is(err, fs.ErrNotExist) {
		return newest, nil, false, nil
	}
	if err != nil {
		return newest, nil, false, err
	}
	defer f.Close()
	found := false
	for slot := range 2 {
		b := make([]byte, Sector)
		if _, err := f.ReadAt(b, int64(slot*Sector)); err != nil {
			damaged = append(damaged, fmt.Errorf("slot %d of %s/%s: %w", slot, dir, pinName, err))
			continue
		}
		p, err := parsePin(b)
		if err != nil {
			damaged = append(damaged, fmt.Errorf("slot %d of %s/%s: %w", slot, dir, pinName, err))
			continue
		}
		if !found || p.Counter > newest.Counter {
			newest, found = p, true
		}
	}
	if !found {
		return newest, damaged, true, errors.Join(damaged...)
	}
	return newest, damaged, true, nil
}

// writePin makes p durable in the slot the previous one does not occupy.
func writePin(f vfs.File, p Pin, sync bool) error {
	if err := f.WriteAt([][]byte{encodePin(p)}, int64(p.Counter%2)*Sector); err != nil {
		return err
	}
	if !sync {
		return nil
	}
	return f.Sync()
}

// createPin makes the file with both slots valid and durable, its name excepted.
func createPin(dir vfs.FS, p Pin) (vfs.File, error) {
	f, err := dir.Create(pinName)
	if err != nil {
		return nil, err
	}
	p.Counter = 2
	next := p
	next.Counter = 3
	if err := errors.Join(writePin(f, p, false), writePin(f, next, true)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
