package group

import (
	"bytes"
	"testing"
)

// Whatever a client embeds is read or refused, takes no more memory than its bytes say, and an assignment comes back.
func FuzzEmbedded(f *testing.F) {
	f.Add(subscription("topics=a+b|a/0+b/1"))
	f.Add(writeAssignment(3, map[string][]int32{"a": {0, 2}, "b": nil}))
	f.Add([]byte{0, 1, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if said, ok := readSubscription(b); ok && len(said.topics) > len(b) {
			t.Fatalf("%d topics in %d bytes", len(said.topics), len(b))
		}
		set, ok := readAssignment(b)
		if !ok {
			return
		}
		written := writeAssignment(0, set)
		again, ok := readAssignment(written)
		if !ok || !bytes.Equal(writeAssignment(0, again), written) {
			t.Fatalf("%v came back as %v", set, again)
		}
	})
}
