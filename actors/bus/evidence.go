package bus

import (
	"maps"
	"slices"
	"time"

	"lockstep/actors/core"
	"lockstep/protocol/messages"
)

// run composes evidence: at once for what changes a destination's mind, now and then for the rest, and
// every third of a lease for everything that gates, so that T moves on while nothing else does.
func (n *inlet) run() {
	defer close(n.done)
	ticker := time.NewTicker(evidenceEvery)
	defer ticker.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-n.bus.ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-n.bus.ctx.Done():
			return
		case <-n.wake:
		case <-ticker.C:
		}
		n.publish(time.Now())
		pause.Reset(evidenceGap)
	}
}

// publish sends the evidence that is due, by destination and mirror.
func (n *inlet) publish(now time.Time) {
	n.mu.Lock()
	dirty := n.dirty
	n.dirty = map[core.PartitionID]bool{}
	for id, sent := range n.gated {
		if now.Sub(sent) >= n.bus.options.Lease/3 {
			dirty[id] = true
		}
	}
	n.mu.Unlock()

	per := map[core.MirrorKey][]stated{}
	for id := range dirty {
		// The echo is read before the evidence is composed: it may only answer what came before (F19).
		list := n.bus.options.Source.Evidence(id)
		n.mu.Lock()
		due := n.due(id, list, now)
		n.mu.Unlock()
		for _, e := range due {
			per[e.Key] = append(per[e.Key], stated{id, e.Body})
		}
	}
	for key, list := range per {
		slices.SortFunc(list, func(a, b stated) int { return comparePartitions(a.id, b.id) })
		for chunk := range slices.Chunk(list, partitionsPerEvidence) {
			n.state(key, chunk)
		}
	}
}

type stated struct {
	id   core.PartitionID
	body messages.PartitionEvidence
}

// due keeps what is worth saying now. The rest stays dirty until evidenceEvery has passed.
func (n *inlet) due(id core.PartitionID, list []Evidence, now time.Time) []Evidence {
	sent, gated := n.gated[id]
	if len(list) == 0 {
		delete(n.gated, id)
		maps.DeleteFunc(n.stated, func(s statement, _ messages.PartitionEvidence) bool { return s.id == id })
		return nil
	}
	news := !gated || now.Sub(sent) >= evidenceEvery
	for _, e := range list {
		last, ok := n.stated[statement{id, e.Key}]
		news = news || !ok || changesMind(last, e.Body)
	}
	if !news {
		n.dirty[id] = true // the ticker comes back to it
		return nil
	}
	n.gated[id] = now
	for _, e := range list {
		n.stated[statement{id, e.Key}] = e.Body
	}
	return list
}

// changesMind reports whether a destination would act otherwise on b than on a: arm, or repeat its floors.
func changesMind(a, b messages.PartitionEvidence) bool {
	armed := func(e messages.PartitionEvidence) bool { return e.FloorAccepted >= e.GateStart }
	return a.SourceEpoch != b.SourceEpoch || a.RegistrationEpoch != b.RegistrationEpoch || a.Gating != b.Gating ||
		a.GateStart != b.GateStart || armed(a) != armed(b) || !a.HasWaiters && b.HasWaiters
}

func (n *inlet) state(key core.MirrorKey, list []stated) {
	to, err := token(key.Cluster)
	if err != nil {
		return // registered under an id that cannot be addressed: the fetch answers carry its evidence
	}
	n.mu.Lock()
	echo := n.heard[key]
	n.mu.Unlock()
	m := &messages.GateEvidence{SourceCluster: string(n.bus.options.Cluster), DestinationCluster: to, MirrorName: string(key.Mirror),
		Sender: echo.sender, SentMono: echo.mono}
	for _, s := range list {
		k := len(m.Topics)
		if k == 0 || m.Topics[k-1].TopicId != s.id.Topic {
			m.Topics = append(m.Topics, messages.GateEvidenceTopic{TopicId: s.id.Topic})
			k++
		}
		m.Topics[k-1].Partitions = append(m.Topics[k-1].Partitions, messages.GateEvidencePartition{Partition: s.id.Index, Evidence: s.body})
	}
	n.bus.count.evidenceSent.Add(int64(len(list)))
	n.link.publish(evidenceSubject(string(n.bus.options.Cluster), to), messages.EncodeBus(m))
}
