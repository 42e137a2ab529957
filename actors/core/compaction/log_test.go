package compaction

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

// log is a whole log, as one reader has it.
type log []batch.Batch

func (l log) next() int64 {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].LastOffset() + 1
}

const (
	transactional = 0x10
	nobody        = int64(-1)
)

// add appends a batch of "key=value" records; "key" alone is a tombstone, "=value" has no key.
func (l *log) add(epoch int32, producer int64, txn bool, records ...string) {
	h := batch.Batch{BaseOffset: l.next(), LeaderEpoch: epoch, ProducerID: producer, ProducerEpoch: 0, BaseSequence: int32(l.next())}
	if producer < 0 {
		h.ProducerEpoch, h.BaseSequence = -1, -1
	}
	if txn {
		h.Attributes |= transactional
	}
	var list []batch.Record
	for i, text := range records {
		key, value, alive := strings.Cut(text, "=")
		r := batch.Record{Timestamp: 1000 + l.next() + int64(i), Key: []byte(key)}
		if alive {
			r.Value = []byte(value)
		}
		if key == "" {
			r.Key = nil
		}
		list = append(list, r)
	}
	*l = append(*l, batch.Build(h, list))
}

func (l *log) end(epoch int32, producer int64, commit bool) {
	*l = append(*l, batch.EndTxn(7, producer, 0, batch.Marker{Commit: commit}).Stamped(l.next(), epoch))
}

// replace puts batches in the place of those inside of them, as an index does.
func (l log) replace(t testing.TB, list []batch.Batch) log {
	l = slices.Clone(l)
	for _, b := range list {
		from := sort.Search(len(l), func(i int) bool { return l[i].LastOffset() >= b.BaseOffset })
		to := sort.Search(len(l), func(i int) bool { return l[i].LastOffset() > b.LastOffset() })
		if from == to || l[from].BaseOffset != b.BaseOffset || l[to-1].LastOffset() != b.LastOffset() || l[from].LeaderEpoch != b.LeaderEpoch || l[to-1].LeaderEpoch != b.LeaderEpoch {
			t.Fatalf("[%d, %d] of epoch %d takes no place of whole batches", b.BaseOffset, b.LastOffset(), b.LeaderEpoch)
		}
		l = slices.Concat(l[:from], log{b}, l[to:])
	}
	return l
}

// facts are what a replica knows of its log: its aborted transactions, the end of each producer, and where the first open
// transaction begins.
func (l log) facts() (list []Aborted, newest map[int64]Newest, stable core.Offset) {
	newest, open := map[int64]Newest{}, map[int64]core.Offset{}
	for _, b := range l {
		if b.ProducerID < 0 {
			continue
		}
		if m, ends := b.EndOfTxn(); ends {
			if first, has := open[b.ProducerID]; has && !m.Commit {
				list = append(list, Aborted{b.ProducerID, first, core.Offset(b.BaseOffset)})
			}
			delete(open, b.ProducerID)
			n, known := newest[b.ProducerID]
			if !known {
				n.Data = core.Unknown
			}
			n.Marker = core.Offset(b.BaseOffset)
			newest[b.ProducerID] = n
			continue
		}
		if _, has := open[b.ProducerID]; !has && b.IsTransactional() {
			open[b.ProducerID] = core.Offset(b.BaseOffset)
		}
		newest[b.ProducerID] = Newest{Data: core.Offset(b.LastOffset()), Marker: core.Unknown}
	}
	stable = core.Offset(l.next())
	for _, first := range open {
		stable = min(stable, first)
	}
	return list, newest, stable
}

// committed are the records that a reader of committed data is given, from one who has just copied the log.
func (l log) committed(t testing.TB) []batch.Record {
	list, _, stable := l.facts()
	by := newAborted(list)
	var out []batch.Record
	for _, b := range l {
		if b.IsControl() || by.has(b) || core.Offset(b.BaseOffset) >= stable {
			continue
		}
		if err := b.Each(0, func(r batch.Record) bool { out = append(out, r); return true }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// table is the newest value of each key; deleted ones are not there.
func table(records []batch.Record) map[string]string {
	out := map[string]string{}
	for _, r := range records {
		switch {
		case r.Key == nil:
		case r.Value == nil:
			delete(out, string(r.Key))
		default:
			out[string(r.Key)] = fmt.Sprintf("%d@%d %s", r.Offset, r.Timestamp, r.Value)
		}
	}
	return out
}

// show renders records.
func show(records []batch.Record) string {
	var out []string
	for _, r := range records {
		text := fmt.Sprintf("%d:%s", r.Offset, r.Key)
		if r.Value != nil {
			text += "=" + string(r.Value)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// cleaned makes one pass over the log up to to, exclusive, of which what lies below from was looked at before. It returns the
// log after each step, and where the pass ended.
func (l log) cleaned(t testing.TB, p Pass, from, to int64, budget int64) (steps []log, end int64, horizon int64) {
	p.Aborted, p.Newest, _ = l.facts()
	keys, end := NewKeys(p, budget), to
	for _, b := range l {
		if b.BaseOffset >= from && b.LastOffset() < to && !keys.Add(b) {
			end = b.BaseOffset
			break
		}
	}
	c := NewCleaner(p, keys)
	now := l
	step := func(list []batch.Batch) {
		for _, b := range list {
			now = now.replace(t, []batch.Batch{b})
			steps = append(steps, now)
		}
	}
	for _, b := range l {
		if b.LastOffset() < end {
			step(c.Clean(b))
		}
	}
	step(c.End())
	return append(steps, now), end, c.Horizon()
}

func (l log) clean(t testing.TB, p Pass) log {
	steps, _, _ := l.cleaned(t, p, 0, l.next(), 1<<20)
	return steps[len(steps)-1]
}
