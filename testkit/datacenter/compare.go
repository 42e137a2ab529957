package datacenter

import (
	"bytes"
	"fmt"
	"slices"
)

// SameLogAs waits until both sides show the same, and compares byte by byte: batches, offsets, epochs,
// producers, checksums; and the topic's id.
func (d *Datacenter) SameLogAs(t T, other *Datacenter, topic string, partitions int32) {
	t.Helper()
	for p := range partitions {
		var here, there Consumed
		Eventually(t, fmt.Sprintf("%s/%d is as long here as there", topic, p), func() (string, bool) {
			here, there = d.Consume(t, topic, p), other.Consume(t, topic, p)
			return fmt.Sprintf("%d and %d", here.HW, there.HW), here.HW == there.HW
		})
		if !bytes.Equal(here.Bytes, there.Bytes) || !slices.Equal(here.Bases, there.Bases) {
			t.Errorf("%s/%d: %d bytes in %d batches here, %d bytes in %d batches there", topic, p, len(here.Bytes), len(here.Bases), len(there.Bytes), len(there.Bases))
		}
		if here, there := d.Partition(t, topic, p).Topic, other.Partition(t, topic, p).Topic; here != there {
			t.Errorf("%s has id %x here and %x there", topic, here, there)
		}
	}
}
