// Package perr is the table of protocol errors: code, name, text, whether a client may retry, and how
// a code is mapped down for clients that do not know it.
package perr

import "fmt"

// Code is an error code as it travels on the wire. Outcomes are values of this type, never Go errors.
type Code int16

type row struct {
	name, message string
	retriable     bool
}

// downRule says that requests of an API below a version get another code.
type downRule struct {
	apiKey, below int16
	from, to      Code
}

// Name is the code's name in Kafka's spelling, "CODE(123)" if it is not in the table.
func (c Code) Name() string {
	if r, ok := table[c]; ok {
		return r.name
	}
	return fmt.Sprintf("CODE(%d)", int16(c))
}

// Message says in general what the code means; empty if it is not in the table.
func (c Code) Message() string { return table[c].message }

// Retriable tells whether sending the same request again may succeed.
func (c Code) Retriable() bool { return table[c].retriable }

// String is Name, so that codes read well in logs and test failures.
func (c Code) String() string { return c.Name() }

// ForVersion is the code to send to a client that asked with this version of this API: clients treat a
// code newer than themselves as final, so a new one is mapped to the nearest they know (draft,
// "Producer Client Compatibility"). Every code without a rule is unchanged at every version.
func ForVersion(apiKey, version int16, c Code) Code {
	if c == None {
		return c
	}
	for _, r := range downMap {
		if r.apiKey == apiKey && r.from == c && version < r.below {
			return r.to
		}
	}
	return c
}
