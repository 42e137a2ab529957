package log

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"

	"lockstep/actors/core"
	"lockstep/journal/vfs"
)

const metaName = "meta"

// Meta says whose volume a directory is.
type Meta struct {
	Cluster core.ClusterID
	Broker  core.ReplicaID
	Volume  core.Incarnation // random, drawn when the volume was formatted
}

type metaFile struct {
	FormatVersion int    `json:"formatVersion"`
	Cluster       string `json:"cluster"`
	Broker        int32  `json:"broker"`
	Volume        string `json:"volume"`
	CRC           uint32 `json:"crc32c"`
}

func (m metaFile) checksum() uint32 {
	s := fmt.Sprintf("%d %q %d %q", m.FormatVersion, m.Cluster, m.Broker, m.Volume)
	return crc32.Checksum([]byte(s), castagnoli)
}

func (m metaFile) render() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// ReadMeta returns the identity of the volume in dir; an error that is fs.ErrNotExist means that dir
// was never formatted.
func ReadMeta(dir vfs.FS) (Meta, error) {
	f, err := dir.OpenRead(metaName)
	if err != nil {
		return Meta{}, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return Meta{}, err
	}
	b := make([]byte, min(size, 4096))
	if _, err := f.ReadAt(b, 0); err != nil {
		return Meta{}, fmt.Errorf("%s/%s: %w", dir, metaName, err)
	}
	var m metaFile
	if err := json.Unmarshal(b, &m); err != nil {
		return Meta{}, fmt.Errorf("%s/%s is damaged: %w; restore it from a backup or refill this volume from its peers", dir, metaName, err)
	}
	if m.FormatVersion != FormatVersion {
		return Meta{}, fmt.Errorf("%s has format version %d, this build reads %d; use the build that wrote it", dir, m.FormatVersion, FormatVersion)
	}
	id, err := hex.DecodeString(m.Volume)
	if err != nil || len(id) != 16 || m.CRC != m.checksum() {
		return Meta{}, fmt.Errorf("%s/%s is damaged: its checksum does not match; restore it from a backup or refill this volume from its peers", dir, metaName)
	}
	if written, err := m.render(); err != nil || string(written) != string(b) {
		return Meta{}, fmt.Errorf("%s/%s is damaged: it is not as it was written; restore it from a backup or refill this volume from its peers", dir, metaName)
	}
	meta := Meta{Cluster: core.ClusterID(m.Cluster), Broker: core.ReplicaID(m.Broker)}
	copy(meta.Volume[:], id)
	return meta, nil
}

func writeMeta(dir vfs.FS, m Meta) error {
	out := metaFile{
		FormatVersion: FormatVersion, Cluster: string(m.Cluster), Broker: int32(m.Broker), Volume: m.Volume.String(),
	}
	out.CRC = out.checksum()
	b, err := out.render()
	if err != nil {
		return err
	}
	const draft = metaName + ".tmp"
	if err := dir.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := dir.Create(draft)
	if err != nil {
		return err
	}
	err = errors.Join(f.WriteAt([][]byte{b}, 0), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := dir.Rename(draft, metaName); err != nil {
		return err
	}
	return dir.SyncDir()
}

// check refuses a directory of another cluster or broker (attack-A23).
func (m Meta) check(dir vfs.FS, cluster core.ClusterID, broker core.ReplicaID) error {
	if m.Cluster != cluster {
		return fmt.Errorf("%s belongs to cluster %q, this is cluster %q: check --data-dir and --cluster-id", dir, m.Cluster, cluster)
	}
	if m.Broker != broker {
		return fmt.Errorf("%s belongs to broker %d, it was given to broker %d: check the order of --data-dir", dir, m.Broker, broker)
	}
	return nil
}
