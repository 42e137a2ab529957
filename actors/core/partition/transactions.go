package partition

import (
	"fmt"
	"slices"
	"sort"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/perr"
)

// Transactions are what the bytes of a log say of the transactions in it: a function of the log's prefix, on leaders,
// followers, mirrors and at replay alike. Views share the slices: what was handed out is never changed.
type Transactions struct {
	Open    []OpenTxn    // by first offset
	Aborted []AbortedTxn // by marker, all of the log
	// ended are the newest that have ended, by marker: all whose marker a truncation may cut, or that HW may not have
	// passed.
	ended []endedTxn
}

// OpenTxn is a transaction whose end is not in the log.
type OpenTxn struct {
	ProducerID int64
	Epoch      int16 // of its first batch
	First      core.Offset
}

// AbortedTxn is a range of offsets of one producer that read_committed consumers skip.
type AbortedTxn struct {
	ProducerID int64
	First      core.Offset
	Marker     core.Offset
	Stable     core.Offset // transactions that end later begin at or above it
}

type endedTxn struct {
	ProducerID int64
	Epoch      int16
	First      core.Offset
	Marker     core.Offset
}

// endedKept is how many ended transactions below the noted HW are remembered: an unclean leader may cut there too.
const endedKept = 256

// LSO is the last stable offset while HW is hw: below it every transaction has ended for good. One whose marker
// is appended and not committed has not: if the marker is lost with its leader, the transaction may end otherwise.
func (t Transactions) LSO(hw core.Offset) core.Offset {
	lso := hw
	if len(t.Open) > 0 {
		lso = min(lso, t.Open[0].First)
	}
	for i := len(t.ended) - 1; i >= 0 && t.ended[i].Marker >= hw && markerBelowHW; i-- {
		lso = min(lso, t.ended[i].First)
	}
	return lso
}

// AbortedIn lists the aborted transactions that overlap [from, below), by first offset, as clients filter (T07).
func (t Transactions) AbortedIn(from, below core.Offset) []AbortedTxn {
	var list []AbortedTxn
	at := sort.Search(len(t.Aborted), func(i int) bool { return t.Aborted[i].Marker >= from })
	for _, a := range t.Aborted[at:] {
		if a.First < below {
			list = append(list, a)
		}
		if a.Stable >= below {
			break
		}
	}
	slices.SortFunc(list, func(a, b AbortedTxn) int { return int(a.First - b.First) })
	return list
}

// Has reports whether a producer has a transaction open under this epoch.
func (t Transactions) Has(producer int64, epoch int16) bool {
	i := t.openOf(producer)
	return i >= 0 && t.Open[i].Epoch == epoch
}

func (t Transactions) openOf(producer int64) int {
	return slices.IndexFunc(t.Open, func(o OpenTxn) bool { return o.ProducerID == producer })
}

// judge holds a client batch against the transaction of its producer. Without the coordinator's word a batch that
// arrives after its transaction has ended would open one that nobody ends.
func (t Transactions) judge(b batch.Batch, inTxn bool) (perr.Code, string) {
	switch {
	case b.ProducerID < 0 || !requireOpenTransaction:
	case !b.IsTransactional() && t.openOf(b.ProducerID) >= 0:
		return perr.InvalidTxnState, fmt.Sprintf("producer %d has a transaction open in this partition and sent a batch outside of it", b.ProducerID)
	case b.IsTransactional() && !inTxn && !t.Has(b.ProducerID, b.ProducerEpoch):
		return perr.InvalidTxnState, fmt.Sprintf("the transaction of producer %d has ended in this partition, or never had it", b.ProducerID)
	}
	return 0, ""
}

// after takes one batch of the log into account. note is the HW noted in the log.
func (t Transactions) after(b batch.Batch, note core.Offset) Transactions {
	if !b.IsTransactional() || b.ProducerID < 0 {
		return t
	}
	base, at := core.Offset(b.BaseOffset), t.openOf(b.ProducerID)
	if !b.IsControl() {
		if at < 0 {
			t.Open = append(t.Open[:len(t.Open):len(t.Open)], OpenTxn{ProducerID: b.ProducerID, Epoch: b.ProducerEpoch, First: base})
		}
		return t
	}
	m, ends := b.EndOfTxn()
	if !ends || at < 0 {
		return t
	}
	open := t.Open[at]
	t.Open = slices.Delete(slices.Clone(t.Open), at, at+1)
	// Appending in place is safe: readers see no further than their own length, and a cut makes the next append copy.
	t.ended = append(t.ended, endedTxn{ProducerID: open.ProducerID, Epoch: open.Epoch, First: open.First, Marker: base})
	if !m.Commit {
		t.Aborted = append(t.Aborted, AbortedTxn{ProducerID: open.ProducerID, First: open.First, Marker: base, Stable: t.LSO(base + 1)})
	}
	below := sort.Search(len(t.ended), func(i int) bool { return t.ended[i].Marker >= note })
	if below > 2*endedKept {
		t.ended = slices.Clone(t.ended[below-endedKept:])
	}
	return t
}

// cut rolls back to the prefix below to: what it takes the end of is open again.
func (t Transactions) cut(to core.Offset) Transactions {
	n := sort.Search(len(t.ended), func(i int) bool { return t.ended[i].Marker >= to })
	open := slices.DeleteFunc(slices.Clone(t.Open), func(o OpenTxn) bool { return o.First >= to })
	for _, e := range t.ended[n:] {
		if e.First < to {
			open = append(open, OpenTxn{ProducerID: e.ProducerID, Epoch: e.Epoch, First: e.First})
		}
	}
	slices.SortFunc(open, func(a, b OpenTxn) int { return int(a.First - b.First) })
	aborted := sort.Search(len(t.Aborted), func(i int) bool { return t.Aborted[i].Marker >= to })
	return Transactions{Open: open, ended: t.ended[:n:n], Aborted: t.Aborted[:aborted:aborted]}
}
