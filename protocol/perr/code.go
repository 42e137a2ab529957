// Package perr is the table of protocol errors: code, name, text, whether a client may retry, and how
// a code is mapped down for clients that do not know it.
package perr

// Code is an error code as it travels on the wire. Outcomes are values of this type, never Go errors.
type Code int16
