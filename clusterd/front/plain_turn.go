package front

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
)

// A peer that speaks only the KIP numbers no command, so an old one that was left behind on a connection could
// undo a newer one that came on another. Of such a peer one command at a time is begun per connection, when
// everything before it has been answered, and none for a connection that has ended (C3).

// endNoticed is how long a command in turn waits, so that the reader sees an end of the connection that was on
// the wire behind it. What a network holds back longer nobody can tell apart.
const endNoticed = 2 * time.Millisecond

// registers reports whether a Register comes from a peer that numbers its commands.
func registerNumbered(r *messages.RegisterMirrorSyncTopicRequest) bool {
	for _, t := range r.Topics {
		if t.Generation == 0 {
			return false
		}
	}
	return true
}

func unregisterNumbered(r *messages.UnregisterMirrorSyncTopicRequest) bool {
	for _, t := range r.Topics {
		if t.Generation == 0 {
			return r.Mode == modeRelease // an operator's; it takes a number of its own
		}
	}
	return true
}

// inTurn begins a command of a plain peer on the connection's writer, at its place in the order of answers.
func (s *Slot) inTurn(begin func()) {
	if !plainOneAtATime {
		begin()
		return
	}
	var at time.Time
	begun := false
	s.Turn(func() (kmsg.Response, bool) {
		switch {
		case at.IsZero():
			at = time.Now().Add(endNoticed)
			time.AfterFunc(endNoticed, s.Look)
		case !begun && !time.Now().Before(at):
			begun = true
			begin()
		}
		return nil, false
	})
}
