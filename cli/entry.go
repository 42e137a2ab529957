package main

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/actors/core/transaction"
	"lockstep/journal"
	"lockstep/journal/audit"
	"lockstep/journal/log"
	"lockstep/protocol/batch"
)

// entryRow is one journal entry for people and for jq.
type entryRow struct {
	Index  uint64 `json:"index"`
	Broker int32  `json:"broker"`
	Stream string `json:"stream"`
	Seq    int64  `json:"seq"`
	Kind   string `json:"kind"`
	Copy   bool   `json:"copy,omitempty"`
	Event  string `json:"event,omitempty"`
	Body   any    `json:"body,omitempty"`
}

func (r entryRow) print(w io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("render entry %d: %w", r.Index, err)
		}
		_, err = fmt.Fprintf(w, "%s\n", line)
		return err
	}
	body := ""
	if r.Body != nil {
		body = printable(readable(r.Body))
	}
	_, err := fmt.Fprintf(w, "%8d %s %d %s %s\n", r.Index, r.Stream, r.Seq, strings.TrimSpace(r.Kind+" "+r.Event), body)
	return err
}

// batchRow is what a record batch's header says.
type batchRow struct {
	Base          int64  `json:"baseOffset"`
	Last          int64  `json:"lastOffset"`
	LeaderEpoch   int32  `json:"leaderEpoch"`
	Records       int32  `json:"records"`
	Bytes         int    `json:"bytes"`
	ProducerID    int64  `json:"producerId"`
	ProducerEpoch int16  `json:"producerEpoch"`
	BaseSequence  int32  `json:"baseSequence"`
	MaxTimestamp  int64  `json:"maxTimestamp"`
	KnownHW       int64  `json:"knownHW"`
	Transaction   string `json:"transaction,omitempty"` // part, COMMIT or ABORT
}

// transactionOf says what a batch is to the transaction of its producer.
func transactionOf(b batch.Batch) string {
	switch m, ends := b.EndOfTxn(); {
	case ends && m.Commit:
		return "COMMIT"
	case ends:
		return "ABORT"
	case b.IsTransactional():
		return "part"
	default:
		return ""
	}
}

func render(e audit.Entry) (entryRow, error) {
	row := entryRow{Index: e.Index, Broker: int32(e.Broker), Stream: string(e.Stream), Seq: int64(e.Seq), Copy: e.Copy}
	switch e.Type {
	case log.RecordEntry:
	case log.RecordSnapshot:
		row.Kind = fmt.Sprintf("snapshot of %d bytes", len(e.Entry.Payload))
		return row, nil
	case log.RecordDrop:
		row.Kind = "drop"
		return row, nil
	case log.RecordSegments:
		row.Kind = "segments"
		return row, nil
	default:
		return row, fmt.Errorf("record type %d is newer than this program", e.Type)
	}
	if e.Entry.Kind == core.EntryBatch {
		b, _, err := batch.Parse(e.Entry.Payload)
		if err != nil {
			return row, err
		}
		row.Kind, row.Body = "batch", batchRow{b.BaseOffset, b.LastOffset(), b.LeaderEpoch, b.Records, len(b.Bytes), b.ProducerID,
			b.ProducerEpoch, b.BaseSequence, b.MaxTimestamp, int64(e.Entry.Note), transactionOf(b)}
		return row, nil
	}
	ev, err := decode(e.Stream, e.Entry.Payload)
	if err != nil {
		return row, err
	}
	row.Kind, row.Event, row.Body = "event", reflect.TypeOf(ev).Name(), ev
	return row, nil
}

// decode finds the machine that wrote a stream by the stream's name.
func decode(s journal.Stream, payload []byte) (any, error) {
	name := string(s)
	for _, machine := range []struct {
		prefix string
		decode func([]byte) (any, error)
	}{
		{"partition/", func(b []byte) (any, error) { return partition.DecodeEvent(b) }},
		{"ledger/", func(b []byte) (any, error) { return highwater.DecodeEvent(b) }},
		{"control/controller", func(b []byte) (any, error) { return controller.DecodeEvent(b) }},
		{"control/registration", func(b []byte) (any, error) { return registration.DecodeEvent(b) }},
		{"control/mirror/", func(b []byte) (any, error) { return mirror.DecodeEvent(b) }},
		{"control/group", func(b []byte) (any, error) { return group.DecodeEvent(b) }},
		{"control/transaction", func(b []byte) (any, error) { return transaction.DecodeEvent(b) }},
	} {
		if strings.HasPrefix(name, machine.prefix) {
			return machine.decode(payload)
		}
	}
	return fmt.Sprintf("%d bytes", len(payload)), nil
}

// readable prints a struct's fields with ids as people know them. Byte slices show their length.
func readable(v any) string {
	switch x := v.(type) {
	case core.TopicID:
		return x.String()
	case core.Incarnation:
		return x.String()
	case core.Secret:
		return x.String()
	case []byte:
		return fmt.Sprintf("%d bytes", len(x))
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Struct:
		var parts []string
		for i := range rv.NumField() {
			parts = append(parts, rv.Type().Field(i).Name+"="+readable(rv.Field(i).Interface()))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case reflect.Slice:
		var parts []string
		for i := range rv.Len() {
			parts = append(parts, readable(rv.Index(i).Interface()))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Pointer:
		if rv.IsNil() {
			return "null"
		}
		return readable(rv.Elem().Interface())
	default:
		return fmt.Sprint(v)
	}
}
