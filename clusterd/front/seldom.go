package front

import (
	"log/slog"
	"sync"
	"time"
)

// seldom logs what anybody on the network can make happen as often as they like: the first time, and then again when a
// while has passed, with how often it happened meanwhile. The zero value is ready.
type seldom struct {
	mu    sync.Mutex
	last  time.Time
	times int64 // since then
}

func (s *seldom) warn(log *slog.Logger, what string, about ...any) {
	s.mu.Lock()
	s.times++
	times, now := s.times, time.Now()
	due := now.Sub(s.last) >= warnEvery
	if due {
		s.last, s.times = now, 0
	}
	s.mu.Unlock()
	if due {
		log.Warn(what, append(about, "times", times)...)
	}
}
