// Package daemon is one clusterd process: it opens the volumes, starts the cluster on them, serves, and
// closes everything in the reverse order.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"lockstep/actors/broker"
	"lockstep/actors/bus"
	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/transaction"
	"lockstep/actors/fetcher"
	"lockstep/actors/shell"
	"lockstep/clusterd/config"
	"lockstep/clusterd/front"
	"lockstep/clusterd/metrics"
	"lockstep/protocol/properties"
)

// claimLeaseMs is how long a claim of a mirror stands after the source was heard last (C4), unless
// lockstep.claim.lease.ms says otherwise.
const claimLeaseMs = 10_000

// Daemon is a running process. Its methods may be called from any goroutine.
type Daemon struct {
	config   config.Config
	machine  Machine
	log      *slog.Logger
	clock    *shell.RealClock
	store    *store
	cluster  *broker.Cluster
	bus      *bus.Bus
	fetchers *fetcher.Fetchers
	http     *httpServer
	memory   *front.Memory
	traffic  front.Traffic
	secrets  *properties.Places

	listeners []front.Listener // in the order of --kafka-listen

	changing sync.Mutex // one stop or start of a broker at a time: a start that is overtaken would serve a stopped one

	mu     sync.Mutex
	fronts map[core.ReplicaID]*front.Front
	kafka  map[core.ReplicaID][]string // addresses of the listeners, kept over a stop and start of the broker
}

// Run serves until ctx ends, then closes cleanly. The ready line goes to out, once everything listens.
func Run(ctx context.Context, c config.Config, log *slog.Logger, out io.Writer) error {
	return RunOn(ctx, Machine{}, c, log, out)
}

// RunOn is Run on a machine whose power can be lost.
func RunOn(ctx context.Context, m Machine, c config.Config, log *slog.Logger, out io.Writer) error {
	d := &Daemon{config: c, machine: m, log: log, memory: front.NewMemory(front.ProcessBytes), fronts: map[core.ReplicaID]*front.Front{}, kafka: map[core.ReplicaID][]string{}}
	defer d.close()
	if err := d.start(); err != nil {
		return err
	}
	line, err := d.announce()
	if err != nil {
		return err
	}
	d.http.ready.Store(true)
	if _, err := fmt.Fprintln(out, line); err != nil {
		return fmt.Errorf("write the ready line: %w", err)
	}
	<-ctx.Done()
	log.Info("closing", "cluster", string(d.cluster.ID()))
	return nil
}

// start is D6: volumes and control quorum, the cluster, bus and fetchers, and listeners last. The Kafka
// ports are taken before, so that the cluster can be told what clients will be told; nobody is
// accepted until the end.
func (d *Daemon) start() error {
	lines, err := d.listen()
	if err != nil {
		return err
	}
	served := false
	defer func() {
		if !served {
			for _, l := range slices.Concat(lines...) {
				l.Close()
			}
		}
	}()
	if _, err := front.ParseOverrides(d.config.Set["max.connections.per.ip.overrides"]); err != nil {
		return err
	}
	if err := errors.Join(portFree("--nats-listen", d.config.NATSListen), portFree("--http-listen", d.config.HTTPListen)); err != nil {
		return err
	}
	if d.store, err = openStore(d.config, d.machine, d.log); err != nil {
		return err
	}
	d.clock = shell.NewRealClock()
	if d.cluster, err = broker.Start(d.options()); err != nil {
		return err
	}
	d.store.attached.Store(d.cluster)
	if d.machine.Opened != nil {
		d.machine.Opened(d.cluster)
	}
	if err := d.connect(); err != nil {
		return err
	}
	if d.http, err = serveHTTP(d); err != nil {
		return err
	}
	served = true
	for i, b := range d.cluster.Brokers() {
		for _, l := range lines[i] {
			d.kafka[b.ID()] = append(d.kafka[b.ID()], l.Addr().String())
		}
		d.serve(b, lines[i])
	}
	return nil
}

func (d *Daemon) options() broker.Options {
	c := d.config
	o := broker.Options{
		Cluster: d.store.cluster, Control: d.store.quorum, Clock: d.clock, Logger: d.log,
		Defaults: controller.Defaults{
			Partitions:  int32(c.Int("num.partitions", 0)),
			Replication: int16(c.Int("default.replication.factor", 0)),
			MinISR:      int32(c.Int("min.insync.replicas", 0)),
		},
		Groups:       groupSettings(c),
		Transactions: transactionSettings(c),
		Mirrors: mirror.Defaults{
			LeaseMs:  c.Int("lockstep.claim.lease.ms", 0),
			DemoteMs: c.Int("mirror.sync.topic.demote.timeout.ms", 0),
			Unsynced: c.Durability == "os",
		},
		NoGating: c.Int("mirror.sync.version", 1) == 0 || c.Int("mirror.version", 1) == 0 ||
			c.Set["unstable.api.versions.enable"] == "false" || c.Set["unstable.feature.versions.enable"] == "false",
		PromiseRelease: c.Set["lockstep.release.after.lease"] == "true",
		SwitchoverMs:   c.Int("lockstep.switchover.timeout.ms", 0),
		Settings:       c.Shown(), RetentionCheckMs: c.Int("log.retention.check.interval.ms", 0),
		Reopen: d.store.reopen, Exit: d.machine.Exit,
	}
	for _, v := range d.store.slots {
		told := d.listeners[0].Addresses[v.ID]
		v.Host, v.Port = told.Host, told.Port
		o.Volumes = append(o.Volumes, v)
	}
	return o
}

func transactionSettings(c config.Config) transaction.Settings {
	s := transaction.DefaultSettings()
	s.MaxTimeoutMs = c.Int("transaction.max.timeout.ms", s.MaxTimeoutMs)
	s.ExpirationMs = c.Int("transactional.id.expiration.ms", s.ExpirationMs)
	s.MaxShardBytes = c.Int("lockstep.transaction.shard.max.bytes", s.MaxShardBytes)
	return s
}

func groupSettings(c config.Config) group.Settings {
	s := group.DefaultSettings()
	s.InitialDelayMs = c.Int("group.initial.rebalance.delay.ms", s.InitialDelayMs)
	s.MinSessionMs = c.Int("group.min.session.timeout.ms", s.MinSessionMs)
	s.MaxSessionMs = c.Int("group.max.session.timeout.ms", s.MaxSessionMs)
	s.ConsumerSessionMs = c.Int("group.consumer.session.timeout.ms", s.ConsumerSessionMs)
	s.HeartbeatMs = c.Int("group.consumer.heartbeat.interval.ms", s.HeartbeatMs)
	s.MinConsumerSessionMs = c.Int("group.consumer.min.session.timeout.ms", s.MinConsumerSessionMs)
	s.MaxConsumerSessionMs = c.Int("group.consumer.max.session.timeout.ms", s.MaxConsumerSessionMs)
	s.MinHeartbeatMs = c.Int("group.consumer.min.heartbeat.interval.ms", s.MinHeartbeatMs)
	s.MaxHeartbeatMs = c.Int("group.consumer.max.heartbeat.interval.ms", s.MaxHeartbeatMs)
	s.ConsumerMaxSize = int32(c.Int("group.consumer.max.size", int64(s.ConsumerMaxSize)))
	s.Migration = group.Migrations[c.Word("group.consumer.migration.policy", "bidirectional")]
	s.MaxSize = int32(c.Int("group.max.size", int64(s.MaxSize)))
	s.MaxMetadataBytes = int32(c.Int("offset.metadata.max.bytes", int64(s.MaxMetadataBytes)))
	s.RetentionMs = c.Int("offsets.retention.minutes", s.RetentionMs/60_000) * 60_000
	s.RetentionCheckMs = c.Int("offsets.retention.check.interval.ms", s.RetentionCheckMs)
	s.MaxMemberBytes = int32(c.Int("lockstep.group.member.max.bytes", int64(s.MaxMemberBytes)))
	s.MaxShardBytes = c.Int("lockstep.group.shard.max.bytes", s.MaxShardBytes)
	return s
}

// connect opens the bus and the fetchers, and lets mirrors resume.
func (d *Daemon) connect() (err error) {
	w := &wiring{cluster: d.cluster}
	ask := func(ctx context.Context, config map[string]string, req request) (response, error) {
		return d.fetchers.Call(ctx, config, req) // the bus asks only for mirrors, and those resume below
	}
	d.bus, err = bus.Open(bus.Options{
		Cluster: d.cluster.ID(), Listen: d.config.NATSListen, URL: d.config.NATSURL, Advertise: d.config.NATSAdvertise,
		Unsynced: d.config.Durability == "os", Insecure: d.config.InsecureListen, Lease: time.Duration(d.config.Int("lockstep.claim.lease.ms", claimLeaseMs)) * time.Millisecond, Source: w, Home: w, Ask: ask, Log: d.log,
		Authorized: d.config.Set["authorizer.class.name"] != "",
	})
	if err != nil {
		return err
	}
	if d.secrets, err = properties.ParsePlaces(d.config.MirrorSecrets); err != nil {
		return err
	}
	d.fetchers = fetcher.New(fetcher.Options{Destination: w, Links: d.bus, Log: d.log, ThrottledRate: d.throttledRate(), Secrets: d.secrets})
	d.cluster.Attach(d.fetchers, d.bus)
	return nil
}

// throttledRate is mirror.replication.throttled.rate; Kafka writes unlimited as the largest number.
func (d *Daemon) throttledRate() int64 {
	if rate := d.config.Int("mirror.replication.throttled.rate", 0); rate < math.MaxInt64 {
		return rate
	}
	return 0
}

// limits are the defaults of the listeners with what the operator set.
func (d *Daemon) limits() front.Limits {
	l := front.DefaultLimits()
	l.Frame = int(d.config.Int("socket.request.max.bytes", int64(l.Frame)))
	l.SmallFrame = min(l.SmallFrame, l.Frame)
	if ms := d.config.Int("connections.max.idle.ms", l.Idle.Milliseconds()); ms < 0 {
		l.Idle = -1
	} else {
		l.Idle = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	return l
}

// exposed is what /metrics shows.
func (d *Daemon) exposed() metrics.Process {
	return metrics.Process{Cluster: d.cluster, Fetchers: d.fetchers, Bus: d.bus, Traffic: &d.traffic,
		Partitions: int(d.config.Int("lockstep.metrics.partitions.max", 10_000))}
}

// errStopped ends the wait for an answer of the controller.
var errStopped = errors.New("clusterd is closing")

// stopBroker closes the broker's listener and then the broker.
func (d *Daemon) stopBroker(ctx context.Context, id core.ReplicaID) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	d.mu.Lock()
	f := d.fronts[id]
	delete(d.fronts, id)
	d.mu.Unlock()
	if f != nil {
		f.Close()
	}
	return await(ctx, func(reply func(any)) { d.cluster.StopBroker(id, reply) })
}

// startBroker undoes it: the broker first, then its listener at the old address.
func (d *Daemon) startBroker(ctx context.Context, id core.ReplicaID) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	if err := await(ctx, func(reply func(any)) { d.cluster.StartBroker(id, reply) }); err != nil {
		return err
	}
	d.mu.Lock()
	running, addresses := d.fronts[id] != nil, d.kafka[id]
	d.mu.Unlock()
	b, known := d.cluster.Broker(id)
	if running || !known {
		return nil
	}
	lines, err := listenAgain(id, addresses)
	if err != nil {
		return err
	}
	d.serve(b, lines)
	return nil
}

func await(ctx context.Context, ask func(reply func(any))) error {
	answer := make(chan any, 1)
	ask(func(a any) { answer <- a })
	select {
	case <-ctx.Done():
		return errStopped
	case a := <-answer:
		switch a := a.(type) {
		case controller.Done:
			if a.Code != 0 {
				return fmt.Errorf("%s: %s", a.Code.Name(), a.Text)
			}
		case shell.Failed:
			return fmt.Errorf("%s: %s", a.Code.Name(), a.Text)
		}
		return nil
	}
}

// close is the reverse of start. It runs after a failed start too, over what there is.
func (d *Daemon) close() {
	if d.http != nil {
		d.http.ready.Store(false)
	}
	d.mu.Lock()
	fronts := d.fronts
	d.fronts = map[core.ReplicaID]*front.Front{}
	d.mu.Unlock()
	for _, f := range fronts {
		f.Close()
	}
	if d.fetchers != nil {
		d.fetchers.Close()
	}
	if d.bus != nil {
		d.bus.Close()
	}
	if d.cluster != nil {
		d.cluster.Close()
	}
	if d.http != nil {
		d.http.close()
	}
	if d.store != nil {
		d.store.close()
	}
	if d.clock != nil {
		d.clock.Close()
	}
	d.withdraw()
}
