package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep/actors/core"
)

// electorate is what an election looks at: who is up, and how far each log goes.
type electorate struct {
	live    map[core.ReplicaID]bool
	logs    map[replica]ReplicaLog
	unclean bool // the topic accepts a leader from outside the ISR
	fresh   bool // a process start: whoever led, the epoch is new and the longest log wins
}

type replica struct {
	id      core.PartitionID
	replica core.ReplicaID
}

func byReplica(logs []ReplicaLog) map[replica]ReplicaLog {
	out := make(map[replica]ReplicaLog, len(logs))
	for _, l := range logs {
		out[replica{l.ID, l.Replica}] = l
	}
	return out
}

// elect brings a partition into line with the electorate: fenced and LOSSY members leave the ISR
// unless nobody would be left, and somebody leads if a clean candidate exists. A leader that may stay
// stays, except at a process start. The result equals p when there is nothing to change.
func elect(p PartitionRecord, e electorate) PartitionRecord {
	next := p
	next.ISR = remaining(p, e)
	if e.fresh || !electable(p, e, p.Leader) || !slices.Contains(next.ISR, p.Leader) {
		next.Leader = longest(p, e, next.ISR)
	}
	unclean := false
	if next.Leader == core.NoReplica && e.unclean {
		next.Leader = longest(p, e, p.Replicas)
		unclean = next.Leader != core.NoReplica
	}
	if (e.fresh && raiseEpochOnRestart) || next.Leader != p.Leader {
		next.LeaderEpoch = newestEpoch(p, e) + 1
	}
	if unclean {
		next.ISR = []core.ReplicaID{next.Leader}
		if stateUncleanElection {
			next.LastUnclean = next.LeaderEpoch
		}
	}
	next.Text = ""
	if next.Leader == core.NoReplica {
		next.Text = offline(next, e)
	}
	if next.LeaderEpoch != p.LeaderEpoch || next.Leader != p.Leader || !slices.Equal(next.ISR, p.ISR) ||
		!slices.Equal(next.Lossy, p.Lossy) || next.Text != p.Text {
		next.PartitionEpoch++
	}
	return next
}

// remaining is the ISR after fenced and LOSSY members have left. The last members never leave: the
// list of who has every committed record must not become empty, or nobody could ever lead cleanly.
func remaining(p PartitionRecord, e electorate) []core.ReplicaID {
	whole := filter(p.ISR, func(id core.ReplicaID) bool { return !dropLossyFromISR || !slices.Contains(p.Lossy, id) })
	if up := filter(whole, func(id core.ReplicaID) bool { return e.live[id] }); len(up) > 0 {
		return up
	}
	if len(whole) > 0 {
		return whole
	}
	return p.ISR
}

// electable: a fenced broker cannot serve, and a LOSSY replica would make everyone truncate to a log
// from which acknowledged records are missing (R12).
func electable(p PartitionRecord, e electorate, id core.ReplicaID) bool {
	return e.live[id] && (!refuseLossyLeader || !slices.Contains(p.Lossy, id))
}

// longest is the electable one of ids with the highest (epoch, durable LEO), the preferred one among
// equals. With one process start both logs of an ISR of two may end differently above HW, and the
// longer one holds what the shorter one's leader may already have acknowledged to a mirror.
func longest(p PartitionRecord, e electorate, ids []core.ReplicaID) core.ReplicaID {
	best, bestLog := core.NoReplica, ReplicaLog{}
	for _, id := range p.Replicas {
		if !slices.Contains(ids, id) || !electable(p, e, id) {
			continue
		}
		log, found := e.logs[replica{core.PartitionID{Topic: p.Topic, Index: p.Index}, id}]
		if !found {
			log.LastEpoch = core.NoEpoch
		}
		if best == core.NoReplica || electLongestLog && longer(log, bestLog) {
			best, bestLog = id, log
		}
	}
	return best
}

func longer(a, b ReplicaLog) bool {
	return cmp.Or(cmp.Compare(a.LastEpoch, b.LastEpoch), cmp.Compare(a.LEO, b.LEO)) > 0
}

// newestEpoch also looks into the logs: a control stream restored from an older copy must not hand
// out an epoch that batches already carry.
func newestEpoch(p PartitionRecord, e electorate) core.LeaderEpoch {
	newest := p.LeaderEpoch
	for _, id := range p.Replicas {
		if log, found := e.logs[replica{core.PartitionID{Topic: p.Topic, Index: p.Index}, id}]; found {
			newest = max(newest, log.LastEpoch)
		}
	}
	return newest
}

func offline(p PartitionRecord, e electorate) string {
	lossy := filter(p.ISR, func(id core.ReplicaID) bool { return slices.Contains(p.Lossy, id) })
	if len(lossy) == len(p.ISR) {
		return fmt.Sprintf("offline: every in-sync replica is LOSSY, records that were acknowledged are missing on %s; "+
			"put back an intact volume of one of them and run clusterctl brokers start %d, or accept the loss with clusterctl partitions accept-loss",
			brokers(lossy), lossy[0])
	}
	down := filter(p.ISR, func(id core.ReplicaID) bool { return !slices.Contains(p.Lossy, id) && !e.live[id] })
	if len(down) == 0 {
		return "offline: no replica may lead"
	}
	return fmt.Sprintf("offline: %s has every acknowledged record and is down; run clusterctl brokers start %d", brokers(down), down[0])
}

func brokers(ids []core.ReplicaID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = fmt.Sprint(id)
	}
	if len(ids) == 1 {
		return "broker " + names[0]
	}
	return "brokers " + strings.Join(names, ", ")
}

func filter(ids []core.ReplicaID, keep func(core.ReplicaID) bool) []core.ReplicaID {
	var out []core.ReplicaID
	for _, id := range ids {
		if keep(id) {
			out = append(out, id)
		}
	}
	return out
}
