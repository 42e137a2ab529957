package faults

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stillness watches the machine beside the clusters: how long a small write and its sync take on the disk they share,
// with the wait for a processor. A mirror that nothing was done to may be the slowest one in such a time.
type stillness struct {
	mu    sync.Mutex
	began time.Time // of the step under way
	steps []step
}

type step struct {
	end  time.Time
	took time.Duration
}

// remembered is longer than any probe waits.
const remembered = 10 * time.Second

// watch measures in dir until done is closed.
func (s *stillness) watch(dir string, done <-chan struct{}) error {
	f, err := os.Create(filepath.Join(dir, "stillness"))
	if err != nil {
		return err
	}
	s.began = time.Now()
	go func() {
		defer f.Close()
		page := make([]byte, 4096)
		for {
			_, err := f.WriteAt(page, 0)
			if err == nil {
				err = f.Sync()
			}
			select {
			case <-done:
				return
			case <-time.After(pause):
			}
			s.note(time.Now(), err)
		}
	}()
	return nil
}

// pause between two steps, which counts as none of the time a step takes.
const pause = 20 * time.Millisecond

func (s *stillness) note(now time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.steps = append(s.steps, step{now, now.Sub(s.began) - pause})
	}
	for len(s.steps) > 0 && now.Sub(s.steps[0].end) > remembered {
		s.steps = s.steps[1:]
	}
	s.began = now
}

// longest is the longest step that was under way at or after since.
func (s *stillness) longest(since, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := now.Sub(s.began) - pause
	for _, step := range s.steps {
		if !step.end.Before(since) {
			most = max(most, step.took)
		}
	}
	return most
}
