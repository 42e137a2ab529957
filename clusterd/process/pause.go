package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Pause is SIGSTOP, and waits until every thread has stopped: on a busy machine the child goes on answering
// for tens of milliseconds after the signal was sent. Resume is SIGCONT.
func (p *Process) Pause() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		running, err := p.runs()
		if err != nil || !running {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("clusterd %s does not stop for SIGSTOP", p.Cluster)
		}
	}
}

func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// runs reports whether any thread is not stopped.
func (p *Process) runs() (bool, error) {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	if err != nil {
		return false, err
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		// pid (name) state …, where the name may hold anything
		if at := strings.LastIndexByte(string(text), ')'); at < 0 || !strings.HasPrefix(string(text[at+1:]), " T") {
			return true, nil
		}
	}
	return false, nil
}
