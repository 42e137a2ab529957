package protocol

import (
	"fmt"

	"lockstep/protocol/messages"
	"lockstep/protocol/wire"
)

// Growth is the most that a byte of a request, records aside, takes once it is decoded, in bytes: an element of four bytes
// may be an empty name and one tagged field that nobody knows, for which kmsg makes a map.
const Growth = 96

// maxNames bounds what a request says beside records and data of members, in bytes: what other requests may have in all.
const maxNames = 1 << 20

// The first versions with compact lengths and tagged fields, and the first Produce that names topics by id.
const (
	produceFlexible   = 9
	produceTopicIDs   = 13
	joinGroupFlexible = 6
	syncGroupFlexible = 4
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
	blobs, _ := produced(h.Version, body)
	return len(frame) - blobs
}

// fewNames looks ahead, without keeping anything, at requests that are large because of what others wrote into them.
func fewNames(key, version int16, body []byte) error {
	blobs, err := 0, error(nil)
	switch key {
	case messages.KeyProduce:
		blobs, err = produced(version, body)
	case messages.KeyJoinGroup:
		blobs, err = subscribed(version, body)
	case messages.KeySyncGroup:
		blobs, err = assigned(version, body)
	default:
		return nil
	}
	if n := len(body) - blobs; err == nil && n > maxNames {
		return fmt.Errorf("%d bytes beside records or data of members, limit %d: %w", n, maxNames, ErrFrameTooLarge)
	}
	return err
}

// produced is how many bytes of a Produce request are records.
func produced(version int16, body []byte) (records int, err error) {
	r, flexible := wire.NewReader(body), version >= produceFlexible
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
			skipTags(&r, flexible)
		}
		skipTags(&r, flexible)
	}
	return records, r.Err()
}

// subscribed is how many bytes of a JoinGroup request are metadata of the member's protocols.
func subscribed(version int16, body []byte) (metadata int, err error) {
	r, flexible := wire.NewReader(body), version >= joinGroupFlexible
	r.SkipString(flexible) // group
	r.Int32()              // session timeout
	if version >= 1 {
		r.Int32() // rebalance timeout
	}
	r.SkipString(flexible) // member
	if version >= 5 {
		r.SkipString(flexible) // instance
	}
	r.SkipString(flexible) // protocol type
	return namedBytes(&r, flexible)
}

// assigned is how many bytes of a SyncGroup request are assignments of members.
func assigned(version int16, body []byte) (assignments int, err error) {
	r, flexible := wire.NewReader(body), version >= syncGroupFlexible
	r.SkipString(flexible) // group
	r.Int32()              // generation
	r.SkipString(flexible) // member
	if version >= 3 {
		r.SkipString(flexible) // instance
	}
	if version >= 5 {
		r.SkipString(flexible) // protocol type
		r.SkipString(flexible) // protocol
	}
	return namedBytes(&r, flexible)
}

// namedBytes walks over an array of names with bytes and counts the bytes.
func namedBytes(r *wire.Reader, flexible bool) (n int, err error) {
	for i := r.ArrayLen(flexible, 1); i > 0 && r.Err() == nil; i-- {
		r.SkipString(flexible)
		n += len(r.NullableRecords(flexible))
		skipTags(r, flexible)
	}
	return n, r.Err()
}

func skipTags(r *wire.Reader, flexible bool) {
	if flexible {
		r.SkipTags()
	}
}
