package batch

import (
	"fmt"

	"lockstep/protocol/perr"
)

// Invalid is why a batch is refused. A batch is refused whole; Records names those that are to blame.
type Invalid struct {
	Code    perr.Code
	Text    string
	Records []BadRecord
}

// BadRecord is one record that does not pass, by its index in the batch.
type BadRecord struct {
	Index int32
	Text  string
}

func (i *Invalid) Error() string { return i.Text }

func invalid(code perr.Code, format string, args ...any) *Invalid {
	return &Invalid{Code: code, Text: fmt.Sprintf(format, args...)}
}

// badRecord refuses a batch for one record, before the rest was looked at.
func badRecord(index int32, format string, args ...any) *Invalid {
	text := fmt.Sprintf(format, args...)
	return &Invalid{Code: perr.InvalidRecord, Text: fmt.Sprintf("record %d: %s", index, text),
		Records: []BadRecord{{Index: index, Text: text}}}
}
