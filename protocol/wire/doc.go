// Package wire reads and writes the primitives of Kafka's serialization: fixed-width big-endian
// integers, varints, compact and plain strings, bytes, arrays and tagged fields.
//
// Writers are append functions. Reader keeps the first error and returns zero values after it, so that
// generated code needs no error checks; every length and count is compared with the bytes that are
// present before anything is allocated.
package wire
