package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"lockstep/actors/core"
	"lockstep/clusterd/config"
	"lockstep/journal/log"
	"lockstep/journal/vfs"
)

// identify finds the cluster's name: the flag, else what the directories say, else a fresh one. The
// volumes check it again, each against its own.
func identify(c config.Config) (core.ClusterID, error) {
	found := core.ClusterID("")
	for i, dir := range c.Dirs() {
		open, err := vfs.OpenReal(filepath.Join(dir, "log"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, syscall.EIO): // a dead disk is a lost volume, which the cluster may survive
			continue
		case errors.Is(err, syscall.ENOTDIR):
			return "", fmt.Errorf("--data-dir %s: %w; a file stands where a directory is needed: give another path", dir, err)
		case err != nil:
			return "", fmt.Errorf("--data-dir %s: %w; give a directory that this user may use", dir, err)
		}
		meta, err := log.ReadMeta(open)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil: // the volume's own open says what to do about it
		case c.ClusterID != "" && meta.Cluster != core.ClusterID(c.ClusterID):
			return "", fmt.Errorf("--data-dir %s belongs to cluster %s, not to --cluster-id %s: give the right one of them", dir, meta.Cluster, c.ClusterID)
		case meta.Broker != core.ReplicaID(i+1):
			return "", fmt.Errorf("--data-dir %s belongs to broker %d of cluster %s, not to broker %d: give the directories in the order of the brokers", dir, meta.Broker, meta.Cluster, i+1)
		case found != "" && meta.Cluster != found:
			return "", fmt.Errorf("--data-dir %s belongs to cluster %s, another one to cluster %s: give directories of one cluster", dir, meta.Cluster, found)
		default:
			found = meta.Cluster
		}
	}
	if found != "" {
		return found, nil
	}
	if err := makeDirs(c.Dirs()); err != nil {
		return "", err
	}
	if c.ClusterID != "" {
		return core.ClusterID(c.ClusterID), nil
	}
	return core.ClusterID(config.DrawClusterID()), nil
}

// makeDirs makes the directories of a new cluster. One that cannot be made is a mistake and not a lost volume: the
// cluster would be formatted without a broker that it is to have.
func makeDirs(dirs []string) error {
	for _, dir := range dirs {
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = writable(dir)
		}
		if err != nil {
			return fmt.Errorf("--data-dir %s cannot be used for a new cluster: %w; give a directory on a disk that this user may write", dir, err)
		}
	}
	return nil
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
