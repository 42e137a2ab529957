package fetcher

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
)

func compactedBatch(base, last int64, epoch int32, offsets ...int64) batch.Batch {
	records := make([]batch.Record, last-base+1)
	whole := batch.Build(batch.Batch{BaseOffset: base, LeaderEpoch: epoch, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}, records)
	some, err := whole.Keeping(func(r batch.Record) bool { return slices.Contains(offsets, r.Offset) }, -1)
	if err != nil {
		panic(err)
	}
	return some
}

// steps are n batches of as many offsets as one has.
func steps(next int64, n int) (out string) {
	for range n {
		out += fmt.Sprintf("%d-%d/4 ", next, next+math.MaxInt32-1)
		next += math.MaxInt32
	}
	return out
}

// What compaction has left of a source's log: holes inside of batches and empty batches of ours, holes between batches of
// Kafka's, which our log has empty batches for.
func TestACompactedLogIsAContinuation(t *testing.T) {
	nothing := batch.Nothing(0, 9, 4)
	broken := batch.Nothing(0, 9, 4)
	broken.Bytes = slices.Clone(broken.Bytes)
	broken.Bytes[17]++
	for name, c := range map[string]struct {
		batches []batch.Batch
		next    core.Offset
		last    core.LeaderEpoch
		holes   bool
		want    string // base-last/epoch; empty: refused
	}{
		"holes inside of a batch":        {[]batch.Batch{compactedBatch(5, 9, 4, 6, 8)}, 5, 4, false, "5-9/4 "},
		"an empty batch":                 {[]batch.Batch{nothing, compactedBatch(10, 11, 5, 11)}, 0, core.NoEpoch, false, "0-9/4 10-11/5 "},
		"the rest of an empty batch":     {[]batch.Batch{nothing}, 7, 4, false, "7-9/4 "},
		"one that ends before":           {[]batch.Batch{nothing}, 10, 4, false, ""},
		"the rest of a broken one":       {[]batch.Batch{broken}, 7, 4, false, ""},
		"the rest of a batch of records": {[]batch.Batch{compactedBatch(5, 9, 4, 8)}, 7, 4, false, ""},
		"a hole between batches":         {[]batch.Batch{compactedBatch(5, 9, 4, 8)}, 3, 4, false, ""},
		"one that Kafka leaves":          {[]batch.Batch{compactedBatch(5, 9, 4, 8), compactedBatch(12, 12, 6, 12)}, 3, 4, true, "3-4/4 5-9/4 10-11/6 12-12/6 "},
		"at the begin of its log":        {[]batch.Batch{compactedBatch(5, 9, 4, 8)}, 0, core.NoEpoch, true, "0-4/4 5-9/4 "},
		"which is no way back":           {[]batch.Batch{compactedBatch(5, 9, 4, 8)}, 6, 4, true, ""},
		"nor to an older epoch":          {[]batch.Batch{compactedBatch(5, 9, 4, 8)}, 3, 5, true, ""},
		"more offsets than a batch has":  {[]batch.Batch{compactedBatch(1<<32, 1<<32, 4)}, 3, 4, true, "3-2147483649/4 2147483650-4294967295/4 4294967296-4294967296/4 "},
		"more than an answer is for":     {[]batch.Batch{compactedBatch(math.MaxInt64-1, math.MaxInt64-1, 4)}, 3, 4, true, steps(3, 64)},
		"a hole of a newer epoch":        {[]batch.Batch{compactedBatch(5, 9, 10, 8)}, 3, 4, true, ""},
	} {
		var records []byte
		for _, b := range c.batches {
			records = append(records, b.Bytes...)
		}
		list, err := Verify(records, c.next, c.last, 9, c.holes)
		got := ""
		for _, b := range list {
			if batch.Validate(b) != nil {
				t.Errorf("%s: %v", name, batch.Validate(b))
			}
			got += fmt.Sprintf("%d-%d/%d ", b.BaseOffset, b.LastOffset(), b.LeaderEpoch)
		}
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// R03: a compacted log of Kafka's is copied over its holes, where this cluster's topic is compacted too.
func TestAPlainSourcesHolesAreFilled(t *testing.T) {
	r := newRig(t, 1, nil)
	l := r.home.add(r.id(0), 1)
	for range 6 {
		r.peer.produce(0, 1, true)
	}
	r.peer.change(func() {
		log := r.peer.logs[0]
		log.batches = slices.Delete(log.batches, 1, 3)
		log.batches = log.batches[1:] // offsets 0 to 2 are gone
	})
	r.plainly()
	r.home.await(t, "a refusal", func() bool { return r.fetchers.Counts().Corrupt > 0 })
	r.home.change(func() { r.home.compacts = true })
	r.home.await(t, "the whole copy", func() bool { return len(l.batches) > 0 && l.batches[len(l.batches)-1].LastOffset() == 5 })
	r.home.change(func() {
		if len(l.batches) != 4 || !l.batches[0].IsNothing() || l.batches[0].LastOffset() != 2 {
			t.Errorf("the copy is %+v", l.batches)
		}
	})
}
