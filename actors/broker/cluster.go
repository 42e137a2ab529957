package broker

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
	"lockstep/actors/core/transaction"
	"lockstep/actors/shell"
	"lockstep/journal"
)

const retryNs = int64(100 * time.Millisecond)

// Cluster is all logical brokers of this process, and the coordinators they share.
type Cluster struct {
	options   Options
	system    *shell.System
	brokers   []*Broker
	publisher *publisher
	tails     *tails
	outside   atomic.Pointer[outside]
	ledger    atomic.Pointer[registration.Ledger]
	restarted chan struct{} // closed when the controller has published everything it knows
	once      sync.Once
	stats     stats

	controller   *shell.Ref[controller.Command]
	registration *shell.Ref[registration.Command]
	groups       []*shell.Ref[group.Command]
	transactions []*shell.Ref[transaction.Command]

	compacting chan struct{} // holds one while a broker compacts

	mu      sync.RWMutex
	mirrors map[core.MirrorName]*shell.Ref[mirror.Command]
	known   map[core.PartitionID]*known
	ids     map[int32]int64 // highest producer id found in a log, by prefix
	prefix  int32           // of our own producer ids, -1 until a block was drawn
}

// DefaultSwitchoverMs is the default of lockstep.switchover.timeout.ms.
const DefaultSwitchoverMs = int64(30_000)

// Options say what a cluster is made of.
type Options struct {
	Cluster     core.ClusterID
	Incarnation core.Incarnation // of this process; drawn when zero
	Volumes     []Volume         // one logical broker each, ids 1..N
	Control     journal.Journal  // controller, registrations, mirrors, groups and transactions
	Clock       shell.Clock
	Logger      *slog.Logger
	Defaults    controller.Defaults
	Groups      group.Settings
	// Transactions are the settings of the transaction coordinator; zero: its defaults.
	Transactions transaction.Settings
	// NoGating refuses every mirror that asks to gate, whatever features are finalized: the process was started with
	// mirror.sync.version, mirror.version or a switch for unstable versions turned off.
	NoGating bool
	// SwitchoverMs is how long a switchover may fence a topic before it is handed over; 0: DefaultSwitchoverMs.
	SwitchoverMs int64
	// Settings are the broker settings that an operator gave, by Kafka's names: they stand in for those that a topic does not
	// override.
	Settings map[string]string
	// RetentionCheckMs is how often logs are looked through for what retention lets go; 0: DefaultRetentionCheckMs.
	RetentionCheckMs int64
	// PromiseRelease is lockstep.release.after.lease: every release waits for the claim lease, and evidence says so.
	PromiseRelease bool
	// Mirrors are what mirrors of this cluster do unless their own settings say otherwise.
	Mirrors mirror.Defaults
	// Reopen opens and checks the volume of a broker that lost it, for StartBroker; lossy says that its
	// log ends below a witness. Nil: such a broker comes back only with the process.
	Reopen func(core.ReplicaID) (v journal.Volume, lossy bool, err error)
	// VolumeLost is told once per lost volume, after the broker was fenced. Optional.
	VolumeLost func(core.ReplicaID, error)
	// Exit ends the process: the control quorum is lost, or actors panic over and over. Nil: os.Exit(3).
	Exit func(reason string)
}

// Volume is one logical broker's part of Options.
type Volume struct {
	ID    core.ReplicaID
	Store journal.Volume // nil when it could not be opened; then Err says why
	Err   error
	Dir   string // where quarantine files go
	Host  string // what clients are told
	Port  int32
	Lossy bool
}

func (c *Cluster) replica(broker core.ReplicaID, id core.PartitionID) (*Replica, bool) {
	b, ok := c.Broker(broker)
	if !ok {
		return nil, false
	}
	return b.Replica(id)
}

// Leader is the replica that the controller's newest word makes the leader, if its broker has it.
func (c *Cluster) Leader(id core.PartitionID) (*Replica, bool) {
	return c.replica(c.Newest().Leader(id), id)
}

// Snapshot makes everything that a broker's volume holds entries of write a snapshot: the volume has begun
// a new segment and wants to recycle old ones (D12). It does not wait.
func (c *Cluster) Snapshot(id core.ReplicaID) {
	if b, ok := c.Broker(id); ok {
		b.snapshot()
	}
	c.controller.Snapshot()
	c.registration.Snapshot()
	for _, g := range c.groups {
		g.Snapshot()
	}
	for _, t := range c.transactions {
		t.Snapshot()
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, m := range c.mirrors {
		m.Snapshot()
	}
}

func randomID() (id [16]byte) {
	rand.Read(id[:])
	return id
}

func randomPrefix() int32 {
	var b [4]byte
	rand.Read(b[:])
	return int32(binary.BigEndian.Uint32(b[:]) >> 1)
}
