package main

import (
	"fmt"
	"io"

	"lockstep/actors/core"
	"lockstep/journal/audit"
	"lockstep/protocol/batch"
)

// compacted is one replica in whose log compaction has left the record out.
type compacted struct {
	Cluster string `json:"cluster"`
	Broker  int32  `json:"broker"`
	DataDir string `json:"dataDir"`
}

// held is what the log of one replica has of a record.
type held struct {
	batch     []batchRow // the batch that holds it, if any
	compacted bool
}

// consider keeps the batch that has the offset; a truncation or compaction takes it away again.
func (h *held) consider(e audit.Entry, offset int64) error {
	at := core.Offset(offset)
	switch e.Entry.Op {
	case core.IndexAdd:
		if e.Entry.Base > at || e.Entry.Last < at || e.Copy && (len(h.batch) > 0 || h.compacted) {
			return nil
		}
		row, err := render(e)
		if err != nil {
			return err
		}
		h.batch, h.compacted = []batchRow{row.Body.(batchRow)}, false
		return h.look(e, offset)
	case core.IndexReplace:
		if e.Entry.Base > at || e.Entry.Last < at {
			return nil
		}
		row, err := render(e)
		if err != nil {
			return err
		}
		h.batch = []batchRow{row.Body.(batchRow)}
		return h.look(e, offset)
	case core.IndexTruncate:
		if len(h.batch) > 0 && h.batch[0].Last >= int64(e.Entry.Base) || h.compacted && at >= e.Entry.Base {
			*h = held{}
		}
	case core.IndexNone, core.IndexTrim:
	}
	return nil
}

// look lets go of a batch that compaction has left the record out of, here or where it was copied from.
func (h *held) look(e audit.Entry, offset int64) error {
	b, _, err := batch.Parse(e.Entry.Payload)
	if err != nil || !b.Cleaned() {
		return err
	}
	h.compacted = true
	if err := b.Each(0, func(r batch.Record) bool {
		h.compacted = r.Offset != offset
		return h.compacted
	}); err != nil || !h.compacted {
		return err
	}
	h.batch = nil
	return nil
}

func printCompacted(w io.Writer, list []compacted) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := table{heads: []string{"COMPACTED-AT", "DATA-DIR"}, names: []int{0}}
	for _, at := range list {
		t.add(fmt.Sprintf("%s/%d", at.Cluster, at.Broker), at.DataDir)
	}
	t.print(w)
}
