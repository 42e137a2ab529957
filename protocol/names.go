package protocol

import (
	"fmt"

	"lockstep/protocol/messages"
	"lockstep/protocol/wire"
)

// Growth is the most that a byte of a request, records aside, takes once it is decoded, in bytes: an element of four bytes
// may be an empty name and one tagged field that nobody knows, for which kmsg makes a map.
const Growth = 96

// maxNames bounds what a Produce request says beside its records, in bytes: what other requests may have in all.
const maxNames = 1 << 20

const (
	produceFlexible = 9  // the first version with compact lengths and tagged fields
	produceTopicIDs = 13 // the first version that names topics by id
)

// Names is how many bytes of a Produce frame are not records: those alias the frame, these grow by up to Growth. A frame
// that does not read as one has as many as were read.
func Names(frame []byte) int {
	h, body, err := ParseHeader(frame)
	if err != nil || h.Key != messages.KeyProduce {
		return len(frame)
	}
	if body, err = skipHeaderTags(h.Version >= produceFlexible, body); err != nil {
		return len(frame)
	}
	n, _ := names(h.Version, body)
	return n + len(frame) - len(body)
}

func fewNames(version int16, body []byte) error {
	n, err := names(version, body)
	if err == nil && n > maxNames {
		return fmt.Errorf("%d bytes of a Produce request name topics and partitions, limit %d: %w", n, maxNames, ErrFrameTooLarge)
	}
	return err
}

// names walks over a Produce request without keeping anything.
func names(version int16, body []byte) (int, error) {
	flexible := version >= produceFlexible
	tags := func(r *wire.Reader) {
		if flexible {
			r.SkipTags()
		}
	}
	r := wire.NewReader(body)
	records := 0
	r.SkipString(flexible) // transactional id
	r.Int16()              // acks
	r.Int32()              // timeout
	for t := r.ArrayLen(flexible, 1); t > 0 && r.Err() == nil; t-- {
		if version >= produceTopicIDs {
			r.UUID()
		} else {
			r.SkipString(flexible)
		}
		for p := r.ArrayLen(flexible, 1); p > 0 && r.Err() == nil; p-- {
			r.Int32()
			records += len(r.NullableRecords(flexible))
			tags(&r)
		}
		tags(&r)
	}
	tags(&r)
	return len(body) - records, r.Err()
}
