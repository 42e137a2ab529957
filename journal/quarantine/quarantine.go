// Package quarantine keeps what a truncation took out of a log: the record batches as they were, byte for
// byte, and beside them a description of where they stood and why they went (R11, F43).
package quarantine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Directory is where a broker keeps the ranges, below its data directory.
const Directory = "quarantine"

const (
	dataSuffix = ".batches"
	noteSuffix = ".json"
)

// Note describes one range. The file beside it holds the bytes of the batches of [From, To), one after the
// other, as they stood in the log.
type Note struct {
	Topic       string    `json:"topic"` // id, as in stream names
	Partition   int32     `json:"partition"`
	From        int64     `json:"from"`
	To          int64     `json:"to"` // exclusive
	Mirror      string    `json:"mirror"`
	SourceEpoch int32     `json:"sourceEpoch"` // whose log parted from ours
	LeaderEpoch int32     `json:"leaderEpoch"` // of the replica that cut
	Reason      string    `json:"reason"`
	Time        time.Time `json:"time"`
	Bytes       int64     `json:"bytes"`
	SHA256      string    `json:"sha256"`
}

// Write makes a new range in the data directory dir and returns the path of its batches. copy writes them;
// Bytes and SHA256 are filled in. When Write returns nil, both files and their names are on disk. Nothing is
// ever overwritten: the same range may be cut many times, and each time its bytes may be others.
func Write(dir string, n Note, copy func(io.Writer) error) (path string, err error) {
	home := filepath.Join(dir, Directory)
	if err := os.Mkdir(home, 0o700); err == nil {
		err = syncDir(dir)
		if err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	f, err := create(home, n)
	if err != nil {
		return "", err
	}
	data := f.Name()
	defer func() {
		if err != nil { // half a copy would fill a full disk with every attempt
			os.Remove(data)
			os.Remove(noteOf(data))
		}
	}()
	sum := sha256.New()
	count := &counter{}
	err = copy(io.MultiWriter(f, sum, count))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	n.Bytes, n.SHA256 = count.n, hex.EncodeToString(sum.Sum(nil))
	if err := describe(data, n); err != nil {
		return "", err
	}
	return data, syncDir(home)
}

// create takes a name that was never used.
func create(home string, n Note) (*os.File, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s-%d-%d-%d.%s.%d%s", n.Topic, n.Partition, n.From, n.To, n.Time.UTC().Format("20060102T150405.000"), i, dataSuffix)
		f, err := os.OpenFile(filepath.Join(home, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// describe is last: a file without a description is a copy that was not finished, and nothing was cut for it.
func describe(path string, n Note) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(noteOf(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func noteOf(path string) string { return strings.TrimSuffix(path, dataSuffix) + noteSuffix }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// Range is one range as List finds it.
type Range struct {
	Note
	Path string `json:"path"`
	// Problem says what is wrong with the files, "" when the bytes are those that were cut.
	Problem string `json:"problem"`
}

// List reads the ranges of a data directory, oldest first, and checks each against its digest. It is safe on
// a live or copied directory; one that never cut anything has none.
func List(dir string) ([]Range, error) {
	entries, err := os.ReadDir(filepath.Join(dir, Directory))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Range
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), dataSuffix) {
			list = append(list, read(filepath.Join(dir, Directory, e.Name())))
		}
	}
	slices.SortStableFunc(list, func(a, b Range) int { return a.Time.Compare(b.Time) })
	return list, nil
}

func read(path string) Range {
	r := Range{Path: path}
	text, err := os.ReadFile(noteOf(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Problem = "not finished: nothing was cut for it"
		return r
	case err == nil:
		err = json.Unmarshal(text, &r.Note)
	}
	if err != nil {
		r.Problem = fmt.Sprintf("description unreadable: %v", err)
		return r
	}
	f, err := os.Open(path)
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	switch {
	case err != nil:
		r.Problem = err.Error()
	case n != r.Bytes || hex.EncodeToString(sum.Sum(nil)) != r.SHA256:
		r.Problem = fmt.Sprintf("changed since it was written: %d bytes, %d were cut", n, r.Bytes)
	}
	return r
}
