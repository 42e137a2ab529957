// Package shell is the one place where actors, machines and journals meet: decide, apply, append, and
// release what the decision promised once it is on disk.
package shell

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"lockstep/actors/core"
)

// Panics that are survived: the third within panicWindow ends the process (D4). protoactor's default
// would silently stop the actor instead.
const (
	panicsToExit = 3
	panicWindow  = time.Minute
)

// System is what all actors of a process share.
type System struct {
	Clock  Clock
	Logger *slog.Logger
	// Exit ends the process after a panic too many. Default: log and os.Exit(3).
	Exit func(reason string)
	// Mailbox makes the mailbox of every actor; nil is protoactor's unbounded one. A simulator puts a
	// mailbox here that its scheduler drives.
	Mailbox actor.MailboxProducer
	// Dispatcher runs mailboxes; nil is a goroutine per activation.
	Dispatcher actor.Dispatcher

	actors  *actor.ActorSystem
	request atomic.Uint64

	mu     sync.Mutex
	pairs  map[string][]*actor.PID // pid id -> all that restart together, itself included
	panics []int64
}

// NewSystem makes an empty system. Its fields may be changed until the first Spawn.
func NewSystem(clock Clock, logger *slog.Logger) *System {
	s := &System{Clock: clock, Logger: logger, pairs: map[string][]*actor.PID{}}
	s.Exit = func(reason string) {
		s.Logger.Error("giving up", "reason", reason)
		os.Exit(3)
	}
	// The library reports each failure at Info without its stack; the supervisor below says it better.
	quiet := slog.New(slog.DiscardHandler)
	s.actors = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	return s
}

// NextRequest is an id that no other request of this process has.
func (s *System) NextRequest() core.RequestID { return core.RequestID(s.request.Add(1)) }

func (s *System) spawn(id string, produce func() actor.Actor) {
	options := []actor.PropsOption{actor.WithGuardian(s)}
	if s.Mailbox != nil {
		options = append(options, actor.WithMailbox(s.Mailbox))
	}
	if s.Dispatcher != nil {
		options = append(options, actor.WithDispatcher(s.Dispatcher))
	}
	_, err := s.actors.Root.SpawnNamed(actor.PropsFromProducer(produce, options...), id)
	if err != nil {
		panic(fmt.Sprintf("shell: actor %s: %v", id, err))
	}
}

// Pair makes two actors restart together: after a panic neither may go on with what the other forgot.
func Pair[A, B any](a *Ref[A], b *Ref[B]) {
	s := a.system
	s.mu.Lock()
	defer s.mu.Unlock()
	both := []*actor.PID{a.pid, b.pid}
	s.pairs[a.pid.Id], s.pairs[b.pid.Id] = both, both
}

// HandleFailure is the supervision of every actor: restart it and its pair, or end the process.
func (s *System) HandleFailure(_ *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	now := s.Clock.Now().Mono
	s.mu.Lock()
	recent := s.panics[:0]
	for _, at := range s.panics {
		if now-at < int64(panicWindow) {
			recent = append(recent, at)
		}
	}
	s.panics = append(recent, now)
	count := len(s.panics)
	pair := s.pairs[child.Id]
	s.mu.Unlock()
	s.Logger.Error("actor panicked", "actor", child.Id, "reason", reason, "panics_in_a_minute", count)
	if count >= panicsToExit {
		s.Exit(fmt.Sprintf("%d panics within %s, the last in %s: %v", count, panicWindow, child.Id, reason))
		return
	}
	if pair == nil {
		pair = []*actor.PID{child}
	}
	supervisor.RestartChildren(pair...)
}

func (s *System) forget(pid *actor.PID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pairs, pid.Id)
}
