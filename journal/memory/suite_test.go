package memory

import (
	"testing"

	"lockstep/journal/journaltest"
)

// box stands in for a disk: what the last journal left behind.
type box struct{ j *Journal }

func (b *box) Open(*testing.T) *Journal {
	if b.j == nil {
		b.j = New(Options{})
	} else {
		b.j = b.j.Crash() // after a clean close this is simply what was there
	}
	return b.j
}

func (b *box) Crash(*testing.T, *Journal) { b.j = b.j.Crash() }

func TestMemoryKeepsTheContract(t *testing.T) {
	journaltest.Volume(t, func(*testing.T) journaltest.Disk[*Journal] { return &box{} })
}
