package broker

import (
	"strings"
	"sync"
)

// lastLines keeps the last lines of a log that are shown when a test fails.
type lastLines struct {
	mu    sync.Mutex
	lines []string
}

const linesKept = 60

// Write takes one line, as slog's handlers write them.
func (l *lastLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == linesKept {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}
