package journaltest

import "testing"

// Suites compare batches by what their names say: two different ones must never look alike.
func TestBatchesNameThemselvesAndDiffer(t *testing.T) {
	a, b := Batch(0, 9, 100), Batch(1, 9, 100)
	if string(a.Payload) == string(b.Payload) || len(a.Payload) != 100 {
		t.Fatalf("%q and %q", a.Payload, b.Payload)
	}
	if got := string(Batch(7, 8, 0).Payload); got != "batch 7-8 " {
		t.Fatalf("the smallest batch is %q", got)
	}
	if again := Batch(0, 9, 100); string(again.Payload) != string(a.Payload) {
		t.Fatal("the same batch comes in two ways")
	}
}
