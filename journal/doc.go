// Package journal is where everything that must survive goes: record batches and durable events.
//
//	            ┌ quorum: control streams on a majority of volumes
//	journal.go ─┼ volume: one per logical broker = log (must survive) + badger (derived)
//	            └ memory: the same contract in tests
//	below: vfs (the file seam)      beside: audit (reads segments only)      journaltest (one suite for all)
//
// # Durability contract
//
// When a Done runs without an error, the entries are on disk (durability=fsync), chained behind
// everything before them, and readable. No timer is involved: a group is what queued while the previous
// fdatasync ran. Entries of one Append, and all entries of one group, survive together or not at all.
//
// An error of a write or a sync poisons the volume: no retry on that handle, every later Append fails in
// Done, Err tells. What was in flight may be there after a reopen or not; nothing was promised about it.
//
// A crash leaves at most one group behind that was never acknowledged. It is cut and reported if it is
// torn, and kept if it is whole. Anything else that does not read as it was written refuses to open and
// names segment, offset and remedy. Groups are written one after the other's sync, so a damaged group
// in front of a valid one was acknowledged. Groups begin at sector boundaries: a sector with acknowledged
// bytes is never written again.
//
// The newest group is the one place where damage and a torn write look alike. There the pin (after a
// clean close or a segment switch), the witness of a sibling volume, and the covered index of Badger tell
// them apart; below any of them the volume refuses to open (pin) or is LOSSY (the others): it opens, but
// its replicas stay outside the ISR until they are refilled.
//
// durability=os leaves syncing to the kernel, as Kafka does: a Done survives the process, not the power
// supply. Segments are still synced when they are sealed. Nothing is LOSSY by witness, and a hole at the
// end, which a power loss may leave there, is cut.
//
// # A volume on disk
//
//	<volume>/log/meta               JSON: format version, cluster id, broker id, volume uuid, checksum
//	<volume>/log/LOCK               flock of the process that has it open
//	<volume>/log/pin                two slots of one sector
//	<volume>/log/<number hex>.seg   segments; the highest may be prepared and not begun
//	<volume>/log/<n>.spare          zeroed or recycled files, worth nothing
//	<volume>/log/ballast            given up when the disk fills
//	<volume>/index/                 Badger: may be deleted at any time while stopped
//	<volume>/index.boot             whether that index may be believed: "clean", or "open <boot id>"; not when
//	                                "making" (its removal was under way) or "wrong" (see R12)
//
// All integers are little-endian, all CRCs CRC32C over what is in front of them.
//
//	segment   sector 0: magic, version, volume uuid, number, first index, previous hash, zeros, CRC.
//	          Then groups, each padded with zeros to a sector. What follows the last group is zeros or
//	          the former life of a recycled file: its groups name another segment number.
//	group     magic, version, number of marks, segment, offset, volume uuid, first index, frames, length,
//	          previous hash, marks of the siblings (uuid, broker, durable index, hash), CRC; then frames.
//	frame     length, type, version, kind, op, index, seq, base, last, max timestamp, note, epoch, stream
//	          length, flags (copy, unindexed), stream, payload, CRC.
//	          Types: 1 entry, 2 snapshot, 3 drop, 4 list of retained segments.
//	pin slot  magic, version, clean flag, volume uuid, counter, index, segment, hash, zeros, CRC.
//	chain     h' = SHA-256(h ‖ group header or frame header with stream ‖ SHA-256(payload)); the digest of
//	          a payload is computed once per process and shared by its volumes.
//
// Segment numbers are never reused, so a position never points into another life of a file. The list of
// retained segments is the first frame of each segment's first group, whoever writes that, and is written again
// before a segment is recycled. It speaks of its own segment and those below: one that is on it and missing is lost
// data, one that is not on it is left over. Segments above the newest list are retained, all of them.
//
// Keys of the index (see journal/badger): e|stream|seq, l|stream|last, s|stream (with the size of its batches), g|segment, c. Batches are
// keyed by their last offset only, so that every look-up is one forward seek.
//
// Space: a segment counts its live bytes, which says where cleaning looks; what it then gives up was asked frame
// by frame. Live entries of a segment with little left are copied to the head (flag copy: "at this point of the
// log this was live"). Truncations, trims and drops are copied too while an older segment is retained: they say
// that something in it is dead, and a rebuild must not raise it; those that a drop killed are not, because their
// copy would outlive it. Every rule compares sequences of the stream, never places in the log.
//
// A replacement (op 4, compaction) takes the place of the batches of its stream that are older and end inside of it. It needs
// no copy as a guard: what takes it out of the index, a later replacement, a trim or a truncation, takes all it replaced.
//
// An index that points to a segment that is gone is made again from the log: at open by itself, otherwise the read
// that met it names stream, entry and segment, and the next open does. If the log does not have what such an index
// knew, the volume is LOSSY.
//
// # How to change a format
//
//  1. Never change the meaning of a byte under the same version. Raise log.FormatVersion and keep reading
//     the old one until no supported release writes it. An unknown version refuses to open, naming both.
//  2. New kinds of frames take the next type; new frame fields take a flag bit and stand behind the
//     stream name, in front of the payload, so that the digest of the payload stays shared.
//  3. The chain covers whole headers: whatever you add to one is protected without further work.
//  4. Extend audit.Verify and the list of byte classes in TestEveryFlippedByteIsDetected.
//  5. The index has no version: change its keys at will and make openIndex remove what it does not know;
//     it is made again from the log.
//  6. Payloads of events have versions of their own (protocol/schemas/journal); the log does not look.
//
// # Why an own log
//
// Read before writing it: hashicorp/raft-wal (master of 2024) and etcd's server/storage/wal (3.6 line).
//
//	needed                          raft-wal                             etcd wal
//	pre-zeroed, recycled segments   fallocate per segment, deleted       fallocate (one ahead), truncated at
//	                                after use: a sync still has to       the cut and purged: the same
//	                                convert extents
//	group commit across streams     one caller holds the write lock      one caller; Save syncs for it
//	                                through its own fsync; gapless
//	                                raft indexes, one stream
//	chained hash                    CRC32 per commit, no chain           rolling CRC32: finds rot, proves
//	                                                                     nothing
//	positional reads                by index; checksums are not          none: ReadAll decodes the whole log
//	                                checked on reads                     into memory
//	damage in the middle of the     scan stops at the first frame that   CRC mismatch is an error; a zeroed
//	newest segment                  does not parse, and everything       frame ends the log, and what follows
//	                                behind it is dropped in silence      is zeroed in silence
//	write errors                    returned; the caller may append      returned; the server decides to exit
//	                                again on the same handle
//	shape of the log                prefix and suffix truncation only    snapshots only
//
// The fifth row decides alone: both take a damaged acknowledged group in the newest segment (raft-wal
// always, etcd when it reads as zeros) for a torn tail, which is the one thing invariant I32 forbids. The
// first row costs the factor that journal.md measured (a sync that has metadata to write: about ten
// times one that overwrites), and neither could carry several streams in one group without a layer above
// that would have been most of this package. They do have what we took: prepared files ahead of the
// writer, one sync per batch, and recovery that never trusts a length it has not checked.
package journal
