// Package fetcher is the destination's side of the data plane: it reads mirrored topics from the brokers
// of a source cluster over the Kafka protocol, and hands what it read to the replicas that lead here.
//
// It decides nothing that safety rests on. Every answer is handed over with the session and the source
// epoch it was asked in, and the partition actor appends it only if both are current (R3). What fetchers
// learn (progress, evidence, failures) goes to the mirror's actor as commands.
package fetcher

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/properties"
)

// Options say what fetchers read for and whom they tell.
type Options struct {
	Destination Destination
	Links       Links // nil: nobody; floors then travel in fetches only
	Log         *slog.Logger
	// ThrottledRate is mirror.replication.throttled.rate: bytes per second that each broker of this cluster may read for
	// the partitions it leads, over all mirrors; 0: unlimited. A mirror may have a rate of its own, for all it reads.
	ThrottledRate int64
	// Secrets say where the settings of mirrors may point for passwords and keys; nil: anywhere.
	Secrets *properties.Places
}

// Fetchers runs the fetchers of every mirror of one destination cluster. Its methods never block, except
// Close.
type Fetchers struct {
	options Options
	sender  [16]byte // of this process: tells its reports from those of an earlier one
	count   counters
	health  health
	ctx     context.Context
	stop    context.CancelFunc

	mu        sync.Mutex
	closed    bool
	mirrors   map[core.MirrorName]*mirrorRun
	throttles map[core.ReplicaID]*throttle
	connect   pace
	seen      map[string][]string // brokers of a source, by the bootstrap addresses that led to them
	ending    sync.WaitGroup
}

// New starts nothing yet.
func New(o Options) *Fetchers {
	if o.Links == nil {
		o.Links = noLinks{}
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Fetchers{options: o, ctx: ctx, stop: stop, mirrors: map[core.MirrorName]*mirrorRun{},
		connect: connectPace, throttles: map[core.ReplicaID]*throttle{}, seen: map[string][]string{}, sender: uuid.New()}
}

// Fetch replaces what is fetched for one topic.
func (f *Fetchers) Fetch(t mirror.FetchTopic) {
	f.tell(t.Mirror, t.Config, t, t.Mode == mirror.FetchOff)
}

// Watch replaces which topics of the source are looked for.
func (f *Fetchers) Watch(w mirror.WatchSource) {
	f.tell(w.Mirror, w.Config, w, len(w.Include) == 0)
}

// Refresh reads the metadata of a mirror's source before its time.
func (f *Fetchers) Refresh(name core.MirrorName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.mirrors[name]; r != nil && !f.closed {
		r.refresh()
	}
}

// tell hands a message to the mirror's goroutine, which is started by the first message that wants
// something. It ends with Close: an idle mirror costs one sleeping goroutine.
func (f *Fetchers) tell(name core.MirrorName, config map[string]string, m any, off bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	r, ok := f.mirrors[name]
	if !ok {
		if off {
			return
		}
		r = newMirrorRun(f, name)
		f.mirrors[name] = r
		f.ending.Go(r.run)
	}
	r.inbox.put(configured{config})
	r.inbox.put(m)
}

// saw remembers the brokers of a source beyond the bootstrap addresses.
func (f *Fetchers) saw(c Config, brokers map[core.ReplicaID]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[c.Bootstrap] = slices.Sorted(maps.Values(brokers))
}

func (f *Fetchers) known(c Config) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[c.Bootstrap]
}

// Counts may be called from any goroutine.
func (f *Fetchers) Counts() Counts { return f.count.snapshot() }

// Close ends every fetcher and waits for all of them.
func (f *Fetchers) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.stop()
	f.ending.Wait()
}

// noLinks stands in where there is no bus.
type noLinks struct{}

func (noLinks) Source(core.MirrorName, core.ClusterID, string)                 {}
func (noLinks) Placed(core.MirrorName, core.PartitionID, core.ReplicaID, bool) {}
func (noLinks) Forget(core.MirrorName, core.TopicID)                           {}
func (noLinks) Connected(core.MirrorName) bool                                 { return false }
