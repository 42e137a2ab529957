package journal

import (
	"strings"
	"testing"
)

func TestStreamNames(t *testing.T) {
	for name, valid := range map[Stream]bool{
		"":                               false,
		"control/controller":             true,
		"partition/a|b/0/1":              false, // the separator of index keys
		"ledger/a\x00/0":                 false,
		Stream(strings.Repeat("a", 512)): true,
		Stream(strings.Repeat("a", 513)): false, // more than a frame header is sized for
	} {
		if name.Valid() != valid {
			t.Errorf("%q valid: %v", name, name.Valid())
		}
	}
	for name, ledger := range map[Stream]bool{"ledger/a/0": true, "ledger": false, "partition/ledger/0/1": false} {
		if name.IsLedger() != ledger {
			t.Errorf("%q is a ledger: %v", name, name.IsLedger())
		}
	}
}
