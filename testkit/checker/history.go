package checker

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// History is what clients did and saw, and what the log was at the end. Instants are nanoseconds since the run began, on
// one clock. Partitions are numbered over all topics.
type History struct {
	Seed       uint64       `json:"seed"`
	Partitions []string     `json:"partitions"` // topic/index, by number
	Writers    []WriterKind `json:"writers"`    // by number, the upper half of a value
	Readers    []Reader     `json:"readers"`    // by number
	Sends      []Send       `json:"sends"`
	Txns       []Txn        `json:"txns"`
	Polls      []Poll       `json:"polls"`
	Commits    []Commit     `json:"commits"`   // of group members
	Committed  []Look       `json:"committed"` // what the group's offsets were read as
	Register   []RegisterOp `json:"register"`
	Ends       []EndRead    `json:"ends"`
	Final      [][]Entry    `json:"final"`  // by partition: every record, in order
	Stable     [][]Entry    `json:"stable"` // by partition: every record that is committed, in order
	Faults     []Fault      `json:"faults"`
	// Mirrored: the cluster died, and what is there is what its synchronous mirror has. Consumers were cut off, and a
	// transaction without an answer may be torn: its markers are written partition by partition.
	Mirrored bool `json:"mirrored,omitempty"`
}

// Value is one record's: its writer's number and a count of that writer, so no two records have the same.
type Value uint64

func valueOf(writer, n int) Value { return Value(writer)<<32 | Value(n) }

func (v Value) writer() int { return int(v >> 32) }

func (v Value) String() string { return fmt.Sprintf("%d.%d", v>>32, uint32(v)) }

// WriterKind says what was promised to a writer.
type WriterKind string

// The kinds of writers.
const (
	Idempotent    WriterKind = "idempotent"
	Plain         WriterKind = "plain" // acks=all, one request in flight, no producer id
	Transactional WriterKind = "transactional"
)

// Outcome is what a client was told.
type Outcome string

// Outcomes. Unknown: it may have happened, or may yet.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"
	Unknown Outcome = "unknown"
)

// Send is one record on its way.
type Send struct {
	Value     Value   `json:"v"`
	Partition int     `json:"p"`
	Began     int64   `json:"b"`
	Ended     int64   `json:"e"`
	Offset    int64   `json:"o"` // as acknowledged
	Outcome   Outcome `json:"r"`
}

// Fate is what a transaction's writer knows of its end.
type Fate string

// Fates. A transaction that was to be committed without an answer is whole or nothing; one that nobody asked to commit is
// nothing.
const (
	Committed  Fate = "committed"
	Aborted    Fate = "aborted"
	Undecided  Fate = "undecided"
	NeverAsked Fate = "never asked to commit"
)

// Txn is one transaction: what it wrote, in order, and what its writer read of committed records meanwhile.
type Txn struct {
	Writer int     `json:"w"`
	Began  int64   `json:"b"`
	Ended  int64   `json:"e"`
	Fate   Fate    `json:"f"`
	Wrote  []Value `json:"wrote"`
	Read   []Value `json:"read,omitempty"`
}

// Reader is one consumer.
type Reader struct {
	Name      string `json:"name"`
	Committed bool   `json:"committed"` // read_committed
	Group     bool   `json:"group"`
	ToEnd     bool   `json:"toEnd"` // it read from the start to the end, in one session for each partition
}

// Poll is what one fetch gave of one partition. Offsets go on from one poll to the next of a session.
type Poll struct {
	Reader    int     `json:"r"`
	Session   int     `json:"s"`
	Partition int     `json:"p"`
	At        int64   `json:"at"`
	HW        int64   `json:"hw"`
	LSO       int64   `json:"lso"`
	Offsets   []int64 `json:"o"`
	Values    []Value `json:"v"`
}

// Commit is one OffsetCommit of a group member, for one partition.
type Commit struct {
	Partition int     `json:"p"`
	Offset    int64   `json:"o"`
	Began     int64   `json:"b"`
	Ended     int64   `json:"e"`
	Outcome   Outcome `json:"r"`
}

// Look is one reading of a group's offset; -1: none.
type Look struct {
	Partition int   `json:"p"`
	Offset    int64 `json:"o"`
	Began     int64 `json:"b"`
	Ended     int64 `json:"e"`
}

// RegisterOp is a read or a write of one offset of a group without members: a register. Writes that have no answer end
// never.
type RegisterOp struct {
	Client  int     `json:"c"`
	Key     int     `json:"k"`
	Write   bool    `json:"w"`
	Value   int64   `json:"v"`
	Began   int64   `json:"b"`
	Ended   int64   `json:"e"`
	Outcome Outcome `json:"r"`
}

// EndRead is one answer of ListOffsets: the high-water mark, or for committed data the last stable offset.
type EndRead struct {
	Partition int   `json:"p"`
	Client    int   `json:"c"`
	Stable    bool  `json:"s"`
	Offset    int64 `json:"o"`
	Began     int64 `json:"b"`
	Ended     int64 `json:"e"`
}

// Entry is one record of a log.
type Entry struct {
	Offset int64 `json:"o"`
	Value  Value `json:"v"`
}

// Fault is what was done to the cluster.
type Fault struct {
	At   int64  `json:"at"`
	What string `json:"what"`
}

// Save writes the history, compressed.
func (h *History) Save(path string) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	z := gzip.NewWriter(f)
	err = json.NewEncoder(z).Encode(h)
	if err == nil {
		err = z.Close()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("save the history in %s: %w", path, err)
	}
	return nil
}

// Load reads what Save wrote.
func Load(path string) (*History, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("load a history: %w", err)
	}
	defer f.Close()
	var h History
	z, err := gzip.NewReader(f)
	if err == nil {
		err = json.NewDecoder(z).Decode(&h)
	}
	if err != nil {
		return nil, fmt.Errorf("load a history from %s: %w", path, err)
	}
	return &h, nil
}
