package controller

import (
	"fmt"
	"slices"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// restart is the one event of a process start (D5): it also covers what went wrong half-way through
// the previous start, because it looks at nothing but the logs and the newest epochs.
func (s *State) restart(c RestartCluster) outcome {
	ev := ClusterRestarted{
		Cluster: c.Cluster, Incarnation: c.Incarnation,
		Defaults: DefaultsRecord{Partitions: c.Defaults.Partitions, Replication: c.Defaults.Replication, MinISR: c.Defaults.MinISR},
	}
	e := electorate{live: map[core.ReplicaID]bool{}, logs: byReplica(c.Logs), fresh: true}
	for _, b := range c.Brokers {
		ev.Brokers = append(ev.Brokers, brokerRecord(b))
		e.live[b.ID] = b.Live
	}
	for _, t := range s.inOrder() {
		e.unclean = s.uncleanAllowed(t)
		for _, p := range t.partitions {
			for _, b := range c.Brokers {
				p.Lossy = marked(p, b, e)
			}
			ev.Partitions = append(ev.Partitions, elect(p, e))
		}
	}
	ev.Forgotten = s.forgettable(e)
	after := s.with(ev)
	out := after.handOver(publish(outcome{Events: []Event{ev}}, after.Facts()...), ev.Partitions...)
	return s.dropLeftovers(out, c.Logs)
}

// marked is p.Lossy after looking at broker b's volume. A mark goes away only when a leader takes the
// replica into the ISR again: a second start finds the same torn log and no witness against it.
func marked(p PartitionRecord, b image.Broker, e electorate) []core.ReplicaID {
	log := e.logs[replica{core.PartitionID{Topic: p.Topic, Index: p.Index}, b.ID}]
	if !slices.Contains(p.Replicas, b.ID) || slices.Contains(p.Lossy, b.ID) || !b.Lossy && !log.Lossy {
		return p.Lossy
	}
	return append(slices.Clone(p.Lossy), b.ID)
}

func (s *State) stopBroker(c StopBroker) outcome {
	b, known := s.brokers[c.Broker]
	if !known {
		return reply(outcome{}, s.noSuchBroker(c.Ref, c.Broker))
	}
	b.Live, b.Text = false, c.Text
	ev := BrokerChanged{Broker: b}
	e := s.electorate(c.Logs)
	e.live[c.Broker] = false
	for _, t := range s.inOrder() {
		e.unclean = s.uncleanAllowed(t)
		for _, p := range t.partitions {
			if next := elect(p, e); next.PartitionEpoch != p.PartitionEpoch {
				ev.Partitions = append(ev.Partitions, next)
			}
		}
	}
	// Partitions before the broker: no image ever shows a fenced broker as a leader.
	facts := append(s.facts(ev.Partitions), s.brokerFact(b, s.holdsLossy(b.Broker, everywhere)))
	out := s.handOverAfter(ev, publish(outcome{Events: []Event{ev}}, facts...), ev.Partitions)
	return reply(out, Done{Ref: c.Ref})
}

func (s *State) startBroker(c StartBroker) outcome {
	if _, known := s.brokers[c.Broker.ID]; !known {
		return reply(outcome{}, s.noSuchBroker(c.Ref, c.Broker.ID))
	}
	b := brokerRecord(c.Broker)
	b.Live, b.Text = true, ""
	ev := BrokerChanged{Broker: b}
	e := s.electorate(c.Logs)
	e.live[b.Broker] = true
	for _, t := range s.inOrder() {
		e.unclean = s.uncleanAllowed(t)
		for _, p := range t.partitions {
			next := p
			next.Lossy = marked(p, c.Broker, e)
			next = startElection(p, next, e)
			if next.PartitionEpoch != p.PartitionEpoch {
				ev.Partitions = append(ev.Partitions, next)
			}
		}
	}
	lossy := s.holdsLossy(b.Broker, everywhere) ||
		slices.ContainsFunc(ev.Partitions, func(p PartitionRecord) bool { return slices.Contains(p.Lossy, b.Broker) })
	facts := append([]image.Fact{s.brokerFact(b, lossy)}, s.facts(ev.Partitions)...)
	out := s.dropLeftovers(publish(outcome{Events: []Event{ev}}, facts...), c.Logs)
	return reply(s.handOverAfter(ev, out, ev.Partitions), Done{Ref: c.Ref})
}

// startElection elects where nobody leads; elsewhere the started broker follows, and only its new
// LOSSY mark is news.
func startElection(old, marked PartitionRecord, e electorate) PartitionRecord {
	next := elect(marked, e)
	if next.PartitionEpoch == old.PartitionEpoch && len(marked.Lossy) != len(old.Lossy) {
		next.PartitionEpoch++
	}
	return next
}

func (s *State) electorate(logs []ReplicaLog) electorate {
	e := electorate{live: map[core.ReplicaID]bool{}, logs: byReplica(logs)}
	for id, b := range s.brokers {
		e.live[id] = b.Live
	}
	return e
}

func (s *State) facts(changed []PartitionRecord) []image.Fact {
	facts := make([]image.Fact, len(changed))
	for i, p := range changed {
		facts[i] = s.fact(p)
	}
	return facts
}

// with is the state after an event, for facts that describe everything.
func (s *State) with(ev Event) *State {
	after, err := restore("", s.snapshot())
	if err != nil {
		panic(err)
	}
	apply(after, ev)
	return after
}

func (s *State) noSuchBroker(ref core.RequestID, id core.ReplicaID) Done {
	return Done{Ref: ref, Code: perr.InvalidRequest,
		Text: fmt.Sprintf("no broker %d in cluster %s; its brokers are %v", id, s.cluster, s.brokerIDs())}
}
