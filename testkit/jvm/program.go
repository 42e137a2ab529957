package jvm

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Program is a running class. Its methods may be called from any goroutine.
type Program struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start runs a class of the home; what it prints is appended to the file log. It dies with the caller.
func (h Home) Start(log, class string, args ...string) (*Program, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", class, err)
	}
	line := h.Args(class, args...)
	p := &Program{cmd: exec.Command(line[0], line[1:]...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Linux delivers Pdeathsig when the thread that forked ends
		defer close(p.done)
		defer out.Close()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = p.cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", line[0], err)
	}
	return p, nil
}

// Kill is kill -9, and waits until the program is gone.
func (p *Program) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop is SIGTERM, and kill -9 after patience.
func (p *Program) Stop(patience time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Kill()
	}
}

// Ended reports whether the program has ended, and how.
func (p *Program) Ended() (error, bool) {
	select {
	case <-p.done:
		return p.err, true
	default:
		return nil, false
	}
}
