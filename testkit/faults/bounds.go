package faults

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What a run may take, however long it is.
const (
	mostMemory      = 1500.0 // MiB resident of one process
	mostDisk        = 20.0   // GiB of all data together
	mostDescriptors = 600.0  // of one process; files of a log are some of them
)

// use is what one process holds at one instant; disk is what its directory takes.
type use struct {
	Memory      float64 `json:"memoryMiB"`
	Disk        float64 `json:"diskGiB"`
	Descriptors float64 `json:"descriptors"`
}

func (u use) String() string {
	return fmt.Sprintf("%.0f MiB, %.2f GiB on disk, %.0f descriptors", u.Memory, u.Disk, u.Descriptors)
}

// bounds are all samples of a run, by cluster.
type bounds struct{ of map[string][]use }

func (b *bounds) measure(r *run) {
	if b.of == nil {
		b.of = map[string][]use{}
	}
	disk := 0.0
	for _, d := range r.all() {
		u := use{memory(d.PID), size(d.Dir), descriptors(d.PID)}
		disk += u.Disk
		b.of[d.Cluster] = append(b.of[d.Cluster], u)
		if u.Memory > mostMemory || u.Descriptors > mostDescriptors {
			r.job.Errorf("%s holds %s; allowed are %.0f MiB and %.0f descriptors", d.Cluster, u, mostMemory, mostDescriptors)
		}
	}
	if disk > mostDisk {
		r.job.Fatalf("the clusters have %.1f GiB on disk; --rate and --minutes must leave it below %.0f", disk, mostDisk)
	}
}

func (b *bounds) last() string {
	var each []string
	for _, cluster := range []string{"dc1", "dc2", "dc3"} {
		if list := b.of[cluster]; len(list) > 0 {
			each = append(each, cluster+" "+list[len(list)-1].String())
		}
	}
	return strings.Join(each, "; ")
}

// judge holds the last quarter against the second: descriptors and memory that only rise are a leak.
func (b *bounds) judge(r *run) {
	for cluster, list := range b.of {
		if len(list) < 12 {
			r.job.Logf("%s: %d samples are too few to tell growth from noise", cluster, len(list))
			continue
		}
		q := len(list) / 4
		for what, of := range map[string]func(use) float64{"MiB": func(u use) float64 { return u.Memory }, "descriptors": func(u use) float64 { return u.Descriptors }} {
			most, least := 0.0, of(list[3*q])
			for _, u := range list[q : 2*q] {
				most = max(most, of(u))
			}
			for _, u := range list[3*q:] {
				least = min(least, of(u))
			}
			if least > most*1.5+64 {
				r.job.Errorf("%s: %s only grow: at most %.0f in the second quarter, never below %.0f in the last", cluster, what, most, least)
			}
		}
	}
}

// memory is what is resident, in MiB; 0 of a process that is gone.
func memory(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib := 0.0
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0
	}
	return kib / 1024
}

func descriptors(pid int) float64 {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return float64(len(list))
}

// size is what a directory takes, in GiB. Files come and go while it looks.
func size(dir string) float64 {
	bytes := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, f fs.DirEntry, err error) error {
		if err == nil && f.Type().IsRegular() {
			if info, err := f.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return float64(bytes) / (1 << 30)
}
