package memory

import (
	"slices"
	"sort"

	"lockstep/actors/core"
	"lockstep/journal"
)

// stream is the durable content of one stream.
type stream struct {
	last     journal.Seq // highest durable sequence
	first    journal.Seq // sequence of entries[0]; last+1 when there are none
	entries  []core.Entry
	snapshot []byte
	has      bool // a snapshot exists; it covers everything below first
	dropped  bool // nothing was appended since the last drop
	batches  []indexed
}

// indexed is one batch of the index, ordered by last offset.
type indexed struct{ entry core.Entry }

func (s *stream) clone() *stream {
	c := *s
	c.entries = slices.Clone(s.entries)
	c.batches = slices.Clone(s.batches)
	return &c
}

func (s *stream) append(last journal.Seq, entries []core.Entry) {
	if len(s.entries) == 0 {
		s.first = last - journal.Seq(len(entries)) + 1
	}
	s.entries = append(s.entries, entries...)
	s.last = last
	if len(entries) > 0 {
		s.dropped = false
	}
	for _, e := range entries {
		switch e.Op {
		case core.IndexNone:
		case core.IndexAdd:
			s.batches = append(s.batches, indexed{e})
		case core.IndexReplace:
			from, to := s.at(e.Base), s.at(e.Last+1)
			s.batches = slices.Concat(s.batches[:from:from], []indexed{{e}}, s.batches[to:])
		case core.IndexTruncate:
			s.batches = s.batches[:s.at(e.Base)]
		case core.IndexTrim:
			s.batches = slices.Clone(s.batches[s.at(e.Base):])
		default:
			panic("journal: unknown index op")
		}
	}
}

// at is the position of the first batch that ends at or above from.
func (s *stream) at(from core.Offset) int {
	return sort.Search(len(s.batches), func(i int) bool { return s.batches[i].entry.Last >= from })
}

func (s *stream) take(covers journal.Seq, state []byte) {
	s.snapshot, s.has, s.dropped = slices.Clone(state), true, false
	s.entries, s.first, s.last = nil, covers+1, covers
}

func (s *stream) drop(at journal.Seq) {
	*s = stream{last: at, first: at + 1, dropped: true}
}

// Replay implements journal.Journal.
func (j *Journal) Replay(name journal.Stream, snapshot func([]byte) error, entry func(journal.Seq, core.Entry) error) error {
	j.mu.Lock()
	var st stream
	if s := j.streams[name]; s != nil {
		st = *s.clone()
	}
	j.mu.Unlock()
	if st.has {
		if err := snapshot(slices.Clone(st.snapshot)); err != nil {
			return err
		}
	}
	for i, e := range st.entries {
		if err := entry(st.first+journal.Seq(i), e); err != nil {
			return err
		}
	}
	return nil
}

// Streams implements journal.Journal.
func (j *Journal) Streams(prefix string) ([]journal.Stream, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var names []journal.Stream
	for name, s := range j.streams {
		if !s.dropped && (s.has || s.last > 0) && len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ReadBatches implements journal.Volume.
func (j *Journal) ReadBatches(name journal.Stream, from core.Offset, max int) ([]journal.StoredBatch, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.streams[name]
	if s == nil {
		return nil, nil
	}
	var out []journal.StoredBatch
	for i := s.at(from); i < len(s.batches); i++ {
		e := s.batches[i].entry
		if max -= len(e.Payload); max < 0 && len(out) > 0 {
			break
		}
		out = append(out, stored(e))
	}
	return out, nil
}

// FindTimestamp implements journal.Volume.
func (j *Journal) FindTimestamp(name journal.Stream, from core.Offset, ts int64) (journal.StoredBatch, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.streams[name]
	if s == nil {
		return journal.StoredBatch{}, false, nil
	}
	for i := s.at(from); i < len(s.batches); i++ {
		if e := s.batches[i].entry; e.MaxTimestamp >= ts {
			return stored(e), true, nil
		}
	}
	return journal.StoredBatch{}, false, nil
}

// Extents implements journal.Volume.
func (j *Journal) Extents(name journal.Stream, from core.Offset, visit func(journal.Extent) bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.streams[name]
	if s == nil {
		return nil
	}
	for _, b := range s.batches[s.at(from):] {
		if !visit(journal.Extent{Base: b.entry.Base, Last: b.entry.Last, MaxTimestamp: b.entry.MaxTimestamp, Bytes: int64(len(b.entry.Payload))}) {
			break
		}
	}
	return nil
}

// Sizes implements journal.Volume.
func (j *Journal) Sizes(names []journal.Stream) ([]int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	sizes := make([]int64, len(names))
	for i, name := range names {
		if s := j.streams[name]; s != nil {
			for _, b := range s.batches {
				sizes[i] += int64(len(b.entry.Payload))
			}
		}
	}
	return sizes, nil
}

func stored(e core.Entry) journal.StoredBatch {
	return journal.StoredBatch{
		Base: e.Base, Last: e.Last, Epoch: e.Epoch, MaxTimestamp: e.MaxTimestamp, Bytes: slices.Clone(e.Payload),
	}
}
