package pair

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/clusterd/process"
	"lockstep/journal"
	"lockstep/journal/audit"
	"lockstep/journal/quorum"
	"lockstep/protocol/perr"
)

// standings is where a destination's own journal says that each topic of mirror dr stands: the phase, or the step of
// STOPPING. The process may live or be dead.
func (d *datacenter) standings() (map[string]string, error) {
	machine := mirror.Machine()
	s := machine.Init("dr")
	err := audit.History(filepath.Join(d.Dir, "broker-1"), journal.Stream("control/mirror/dr"), func(b []byte) error {
		snapshot, err := quorum.ParseSnapshot(b)
		if err == nil {
			s, err = machine.Restore("dr", snapshot.State)
		}
		return err
	}, func(_ journal.Seq, e core.Entry) error {
		ev, err := machine.Decode(e)
		if err == nil {
			machine.Apply(s, ev)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	for _, effect := range machine.Decide(s, core.Now{}, mirror.Describe{}).Late {
		if described, ok := effect.(mirror.Described); ok {
			for _, topic := range described.Mirror.Topics {
				at[topic.Name] = topic.Phase.String()
				if topic.Phase == mirror.Stopping {
					at[topic.Name] = topic.Step.String()
				}
			}
		}
	}
	return at, nil
}

// group is some topics that are stopped together, each with a client of its own: while they go through the steps, one
// or the other is found at each.
type group struct {
	topics []string
	loads  map[string]*load
}

func mirrored(t *testing.T, source, destination *datacenter, round, topics int) group {
	t.Helper()
	g := group{loads: map[string]*load{}}
	for i := range topics {
		topic := fmt.Sprintf("round%d-topic%d", round, i)
		source.createTopic(t, topic, 2)
		destination.startSync(t, "dr", topic)
		g.topics = append(g.topics, topic)
	}
	for _, topic := range g.topics {
		destination.awaitSync(t, "dr", topic)
		g.loads[topic] = &load{source.ProduceAt(t, 200, topic, moving(destination))}
	}
	for _, l := range g.loads {
		l.awaitMore(t, 20)
	}
	return g
}

// killedAt kills victim when the destination's journal shows one of the topics at a step, and reports at which steps the
// topics of the group were met: those that a destination died at, or, since it goes on when the source dies, those that it
// was at the moment before.
func (g group) killedAt(t *testing.T, destination, victim *datacenter, step string) (found []string) {
	t.Helper()
	var at map[string]string
	eventually(t, "a topic stands at "+step+" or is through", func() (string, bool) {
		var err error
		at, err = destination.standings()
		if err != nil {
			return err.Error(), false
		}
		there, through := false, true
		for _, topic := range g.topics {
			there = there || at[topic] == step
			through = through && at[topic] == "STOPPED"
		}
		return fmt.Sprint(at), there || through
	})
	victim.Kill()
	if victim == destination {
		var err error
		if at, err = destination.standings(); err != nil {
			t.Fatal(err)
		}
	}
	for _, topic := range g.topics {
		found = append(found, at[topic])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// ownSteps are the steps of STOPPING that a destination takes by itself; their asks are answered by its own brokers. The
// step "high watermark" is left in the event that enters it.
var ownSteps = []string{"fence", "epoch", "producer reset"}

// killAtSteps takes one group after the other through a verb, with a kill aimed at a step that no kill has met yet. A step
// lasts a few milliseconds on a machine with nothing else to do, so a kill may come too late; it says where it came. That
// every prefix of the journal resumes is shown by the machine's own tests.
func killAtSteps(t *testing.T, source, destination *datacenter, victim func() *datacenter, verb func(ctx context.Context, topic string), after func(g group)) {
	t.Helper()
	met := map[string]bool{}
	for round := range 3 {
		step := ""
		for _, s := range ownSteps {
			if !met[s] {
				step = s
			}
		}
		if step == "" {
			break
		}
		g := mirrored(t, source, destination, round, 3)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		done := make(chan struct{})
		go func() { // the answers may be lost with the process; what became of the command, its journal says
			defer close(done)
			for _, topic := range g.topics {
				verb(ctx, topic)
			}
		}()
		v := victim()
		for _, s := range g.killedAt(t, destination, v, step) {
			met[s] = true
		}
		v.restart(t)
		<-done
		cancel()
		after(g)
	}
	t.Logf("killed with topics at %v", slices.Sorted(maps.Keys(met)))
}

// I47, C9: a switchover with the destination, then the source, killed at steps of STOPPING. Every topic ends with one
// writer, and each acknowledged record is there once.
func TestASwitchoverSurvivesKillsAtItsSteps(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"destination", "source"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			source := start(t, process.Spec{Cluster: "dc1", Args: sendOn})
			destination := start(t, process.Spec{Cluster: "dc2"})
			destination.createMirror(t, "dr", source)
			victim := func() *datacenter {
				if who == "source" {
					return source
				}
				return destination
			}
			killAtSteps(t, source, destination, victim,
				func(ctx context.Context, topic string) {
					_, _ = destination.admin.SwitchTopics(ctx, "dr", []string{topic})
				},
				func(g group) {
					for _, topic := range g.topics {
						destination.settled(t, topic)
						if now, err := destination.describe(t.Context(), "dr", topic); err != nil || now.Phase != "STOPPED" {
							destination.switchOver(t, "dr", topic) // the command died with the process, or the source's time-out ended it
						}
						destination.awaitStopped(t, "dr", topic)
						source.awaitStanding(t, topic, "SUPERSEDED")
						g.moves(t, destination, topic)
						g.oneWriter(t, source, destination, topic)
					}
				})
		})
	}
}

// settled waits until a switchover has come to its end, one or the other.
func (d *datacenter) settled(t *testing.T, topic string) {
	t.Helper()
	d.awaitTopic(t, "dr", topic, "at the end of its switchover", func(now described) bool {
		return now.Phase != "STOPPING" && !now.SwitchingOver
	})
}

// moves points the client at the destination, if it has not followed by itself.
func (g group) moves(t *testing.T, destination *datacenter, topic string) {
	t.Helper()
	next := g.loads[topic].NextNew()
	if err := g.loads[topic].MoveTo(destination.Bootstrap()); err != nil {
		t.Fatal(err)
	}
	await(t, "the client of "+topic+" writes to the destination", next)
}

// oneWriter: the source takes no writes any more, and what the client was acknowledged is at the destination once.
func (g group) oneWriter(t *testing.T, source, destination *datacenter, topic string) {
	t.Helper()
	l := g.loads[topic]
	for _, acks := range []int16{-1, 1} {
		if a := source.produce(t, topic, 1, send{14, acks, time.Second, "late"}); a.code == perr.None || a.err != nil || !strings.Contains(a.text, "dc2") {
			t.Errorf("%s: acks=%d at the source that was left: %s", topic, acks, a)
		}
	}
	l.drain(t)
	l.compare(t, destination)
}

// C9: a failover with the destination killed at steps of it; the source comes back afterwards and is told.
func TestAFailoverSurvivesKillsAtItsSteps(t *testing.T) {
	t.Parallel()
	source := start(t, process.Spec{Cluster: "dc1"})
	destination := start(t, process.Spec{Cluster: "dc2"})
	destination.createMirror(t, "dr", source)
	killAtSteps(t, source, destination, func() *datacenter { return destination },
		func(ctx context.Context, topic string) {
			if topic[len(topic)-1] == '0' {
				source.Kill()
			}
			_, _ = destination.admin.FailTopics(ctx, "dr", []string{topic})
		},
		func(g group) {
			for _, topic := range g.topics {
				if now, err := destination.describe(t.Context(), "dr", topic); err != nil || now.Phase != "STOPPED" && now.Phase != "STOPPING" {
					destination.failOver(t, "dr", topic) // the command died with the process
				}
				destination.awaitStopped(t, "dr", topic)
				g.moves(t, destination, topic)
			}
			source.restart(t)
			for _, topic := range g.topics {
				source.awaitStanding(t, topic, "SUPERSEDED")
				g.oneWriter(t, source, destination, topic)
			}
		})
}
