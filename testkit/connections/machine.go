package connections

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// spareFiles is what each of the two processes has open besides the connections.
const spareFiles = 500

// raiseFiles makes sure that this process and its children may have need files open.
func raiseFiles(need int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if l.Max < uint64(need) {
		return fmt.Errorf("each process needs %d open files, and this shell allows %d (ulimit -Hn): raise it, or use fewer --idle and --active", need, l.Max)
	}
	l.Cur = max(l.Cur, uint64(need))
	// A limit that was set here is passed on to children; the one that Go raises by itself is not.
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("raise the limit of open files to %d: %w", l.Cur, err)
	}
	return nil
}

// residentOf is what a process has resident now, in bytes; peakOf the most it ever had. 0 where the system does not say.
func residentOf(pid int) int64 { return statusOf(pid, "VmRSS:") }
func peakOf(pid int) int64     { return statusOf(pid, "VmHWM:") }

func statusOf(pid int, field string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
