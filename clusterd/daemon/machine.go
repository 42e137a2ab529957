package daemon

import (
	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/journal/vfs"
)

// Machine is what a process stands on. The zero value is the real one.
type Machine struct {
	// Disk is asked at each open of a broker's volume for what holds its commit log, and for the boot of the
	// machine: after another boot the index of a volume is not believed. Nil: log/ in its directory.
	Disk func(core.ReplicaID) (commitLog vfs.FS, boot string)
	// Opened is told of the cluster once it has replayed its volumes, before it mirrors or serves.
	Opened func(*broker.Cluster)
	// Exit is told why the process cannot go on, instead of ending it.
	Exit func(reason string)
}
