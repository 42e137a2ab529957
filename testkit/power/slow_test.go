package power

import (
	"time"

	"lockstep/journal/vfs"
)

// syncTime is about what a disk takes. In memory a sync takes nothing, so that hardly any byte would be written
// and not yet synced when the power goes, and a test that cuts then proves nothing.
const syncTime = 3 * time.Millisecond

// slow is a disk whose syncs take their time.
type slow struct{ vfs.FS }

func (s slow) Create(name string) (vfs.File, error) { return slowly(s.FS.Create(name)) }
func (s slow) Open(name string) (vfs.File, error)   { return slowly(s.FS.Open(name)) }

func slowly(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return slowFile{f}, nil
}

type slowFile struct{ vfs.File }

func (f slowFile) Sync() error {
	<-time.After(syncTime)
	return f.File.Sync()
}
