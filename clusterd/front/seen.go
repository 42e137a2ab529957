package front

import (
	"time"

	"lockstep/actors/core/image"
)

// whenSeen calls done when this broker's image says so, or after a second: clients look, at any broker, for what they were
// just told. It never blocks.
func (f *Front) whenSeen(there func(*image.Image) bool, done func()) {
	const step, steps = 5 * time.Millisecond, 200
	var look func(n int)
	look = func(n int) {
		if n == steps || there(f.broker.Image()) {
			done()
			return
		}
		time.AfterFunc(step, func() { look(n + 1) })
	}
	look(0)
}
