package main

import (
	"fmt"
	"io"

	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/journal"
	"lockstep/journal/audit"
	"lockstep/journal/log"
)

// deletion is one replica whose log begins above the record.
type deletion struct {
	Cluster  string `json:"cluster"`
	Broker   int32  `json:"broker"`
	DataDir  string `json:"dataDir"`
	LogStart int64  `json:"logStart"`
	Reason   string `json:"reason"` // empty: a snapshot says where the log begins, and nothing any more says why
	WallMs   int64  `json:"wallMs"`
}

var reasons = map[partition.Reason]string{
	partition.ReasonClient:     "a client deleted records",
	partition.ReasonTime:       "retention.ms",
	partition.ReasonSize:       "retention.bytes",
	partition.ReasonReplicated: "as at its leader or source",
}

// logStart is where a partition's log begins by what its stream says last.
type logStart struct {
	at   core.Offset
	seq  journal.Seq
	why  string
	when int64
}

func (l *logStart) consider(e audit.Entry) error {
	if e.Seq < l.seq {
		return nil // a copy
	}
	switch e.Type {
	case log.RecordSnapshot:
		var snap partition.Snapshot
		if err := snap.ReadFrom(e.Entry.Payload); err != nil {
			return fmt.Errorf("snapshot of %s: %w", e.Stream, err)
		}
		if l.seq = e.Seq; l.at != snap.LogStart {
			l.at, l.why, l.when = snap.LogStart, "", 0
		}
	case log.RecordDrop:
		*l = logStart{seq: e.Seq}
	case log.RecordEntry:
		if e.Entry.Kind != core.EntryEvent {
			return nil
		}
		ev, err := partition.DecodeEvent(e.Entry.Payload)
		if err != nil {
			return err
		}
		switch ev := ev.(type) {
		case partition.LogStartAdvanced:
			*l = logStart{ev.To, e.Seq, reasons[ev.Reason], ev.WallMs}
		case partition.LogStartedAt:
			*l = logStart{ev.Start, e.Seq, reasons[partition.ReasonReplicated], 0}
		case partition.LogTruncated:
			if ev.To < l.at {
				*l = logStart{at: ev.To, seq: e.Seq}
			}
		default: // nothing about where the log begins
		}
	case log.RecordSegments:
	}
	return nil
}

func printDeletions(w io.Writer, list []deletion) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := table{heads: []string{"DELETED-AT", "LOG", "WHY", "WHEN", "DATA-DIR"}, names: []int{0}}
	for _, d := range list {
		when := ""
		if d.WallMs != 0 {
			when = instant(d.WallMs)
		}
		t.add(fmt.Sprintf("%s/%d", d.Cluster, d.Broker), fmt.Sprintf("begins at %d", d.LogStart), d.Reason, when, d.DataDir)
	}
	t.print(w)
}
