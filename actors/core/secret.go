package core

import (
	"bytes"
	"fmt"
	"io"
)

// Secret is bytes that are kept and used, and never shown: whatever prints or renders a value that holds one shows how long
// it is.
type Secret []byte

// Equal reports whether both are the same. It is not for what a client sends: it takes as long as they are alike.
func (s Secret) Equal(o Secret) bool { return bytes.Equal(s, o) }

func (s Secret) String() string { return fmt.Sprintf("%d hidden bytes", len(s)) }

// Format implements fmt.Formatter, because verbs for bytes ask no Stringer.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
